#!/bin/sh
# usage: dynamic.sh LOW HIGH STEP: halves the interval around the root of
# x^2 - 2 and spawns the next step as a job of its own.
set -eu
step=$3
set -- $(awk -v a="$1" -v b="$2" 'BEGIN {
	m = (a + b) / 2
	if (m * m > 2) b = m; else a = m
	printf "%.6f %.6f %d", a, b, b - a < 0.005
}')
echo "step $step: between $1 and $2"
if [ "$3" = 1 ]; then exit 0; fi
next=$((step + 1))
curl -sS --fail-with-body -X POST "$TORC_API_URL/jobs/$TORC_JOB_ID/spawn_jobs" \
	-H 'Content-Type: application/json' \
	${TORC_TOKEN_FILE:+-H "Authorization: Bearer $(cat "$TORC_TOKEN_FILE")"} \
	-d "{\"lineage\": \"search\", \"jobs\": [{\"name\": \"search_$next\", \"command\": \"./dynamic.sh $1 $2 $next\"}], \"state\": {\"low\": $1, \"high\": $2}}"
