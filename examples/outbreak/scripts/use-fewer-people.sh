#!/bin/sh
# The recovery script for a job that was over its time: a population that is
# as small as that of the simulations.
set -eu
. results/model.conf
echo "$population" >results/state/exact.people
