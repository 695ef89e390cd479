#!/bin/sh
# usage: simulate.sh R0 COVERAGE OUT
# Exit status 65: the time step is too long for this epidemic;
# shorten-step.sh repairs that.
set -eu
r0=$1 coverage=$2 out=$3
. results/model.conf
state=results/state/$TORC_JOB_NAME.step
if [ -f "$state" ]; then step_days=$(cat "$state"); fi

awk -v r0="$r0" -v coverage="$coverage" -v step="$step_days" \
	-v population="$population" -v seeds="$seeds" -v runs="$runs" \
	-v infectious_days="$infectious_days" -v leap_limit="$leap_limit" \
	-f scripts/random.awk -f scripts/simulate.awk >"$out.part"
mv "$out.part" "$out"
