#!/bin/sh
# usage: exact.sh R0 OUT
set -eu
. results/model.conf
people=4000000
if [ -f results/state/exact.people ]; then people=$(cat results/state/exact.people); fi
awk -v r0="$1" -v people="$people" -v population="$population" -v seeds="$seeds" -v runs=20 \
	-v infectious_days="$infectious_days" -f scripts/random.awk -f scripts/exact.awk >"$2.part"
mv "$2.part" "$2"
