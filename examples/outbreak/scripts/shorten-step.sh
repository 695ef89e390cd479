#!/bin/sh
# The recovery script for exit status 65: halve the step of this one job.
set -eu
. results/model.conf
state=results/state/$TORC_JOB_NAME.step
if [ -f "$state" ]; then step_days=$(cat "$state"); fi
awk -v step="$step_days" 'BEGIN { print step / 2 }' >"$state.part"
mv "$state.part" "$state"
echo "attempt $TORC_ATTEMPT_ID ended with $TORC_RETURN_CODE; next step: $(cat "$state") days"
