#!/bin/sh
# usage: network.sh OUT
set -eu
form=matrix
if [ -f results/state/network.form ]; then form=$(cat results/state/network.form); fi
awk -v form="$form" -v people=6000 -f scripts/random.awk -f scripts/network.awk >"$1.part"
mv "$1.part" "$1"
