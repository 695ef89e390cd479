#!/bin/sh
# usage: report.sh OUT
# The page that a person reads.
set -eu
{
	awk -f scripts/map.awk results/table.csv
	printf '\nCoverage from which on outbreaks stay small\n\n'
	awk -F, 'NR > 1 { printf "  R0 %4s   measured %3.0f%%   theory 1 - 1/R0 %3.0f%%\n", $1, $2 * 100, $3 * 100 }' results/critical.csv
	printf '\nChecks\n\n'
	leap=$(awk -F, '$1 == 3 && $2 == 0 { print $4 }' results/table.csv)
	. results/exact.txt
	printf '  attack rate at R0 3 without vaccination: %s in steps, %s event by event (%s people)\n' "$leap" "$attack" "$people"
	. results/network.txt
	printf '  %s contacts per person, inequality %s: R0 of the network is that much larger\n' "$mean_contacts" "$inequality"
	printf '  runs with a shortened step: %s of %s\n' \
		"$(awk -F, 'NR > 1 && $3 < 0.5' results/table.csv | wc -l)" "$(awk 'NR > 1' results/table.csv | wc -l)"
} >"$1.part"
mv "$1.part" "$1"
