#!/bin/sh
# Writes the model that all simulations share.
set -eu
mkdir -p results/runs results/curves results/state
cat >results/model.conf <<'CONF'
population=10000
seeds=10
infectious_days=5
runs=1000
step_days=0.5
leap_limit=0.15
CONF
