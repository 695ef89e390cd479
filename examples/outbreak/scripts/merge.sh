#!/bin/sh
# usage: merge.sh TABLE CRITICAL
set -eu
echo r0,coverage,step_days,attack,peak,large,days >"$1.part"
cat results/curves/r*.csv | grep -v '^critical' >>"$1.part"
mv "$1.part" "$1"
echo r0,measured,theory >"$2.part"
cat results/curves/r*.csv | sed -n 's/^critical,//p' >>"$2.part"
mv "$2.part" "$2"
