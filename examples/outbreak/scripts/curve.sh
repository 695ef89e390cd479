#!/bin/sh
# usage: curve.sh R0 OUT
# Joins the runs of one R0 and finds the coverage from which on outbreaks stay
# small, by interpolation between the two runs around an attack rate of 2 %.
set -eu
awk -F, -v r0="$1" '
	FNR == 1 { next }
	{ print }
	previous > 0.02 && $4 <= 0.02 && !found {
		found = before + ($2 - before) * (previous - 0.02) / (previous - $4)
	}
	{ previous = $4; before = $2 }
	END { printf "critical,%s,%.3f,%.3f\n", r0, found, 1 - 1 / r0 }
' "results/runs/r$1"_v*.csv >"$2.part"
mv "$2.part" "$2"
