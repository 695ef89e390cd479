package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// onceScript is a job that fails once. It records its name, its attempt and the time,
// before it fails and when it is retried.
const onceScript = `#!/bin/bash
echo $2 $TORC_ATTEMPT_ID $EPOCHREALTIME >>$1
((TORC_ATTEMPT_ID > 1)) || exit 75
`

// retryWaves are sets of jobs, each as large as the cluster and dependent on the one
// before: there is a free slot for each failed job.
const retryWaves = 4

// runRetry measures the time from the end of a job's failed attempt to the first
// instruction of its next one, for both ways to start jobs.
func runRetry(ctx context.Context, b *bench) error {
	for _, mode := range []string{"direct", "slurm"} {
		var gaps []float64
		for range b.rounds {
			err := b.onCluster(ctx, func(ctx context.Context, c *cluster) error {
				more, err := c.retry(ctx, mode)
				gaps = append(gaps, more...)
				return err
			})
			if err != nil {
				return err
			}
		}
		what := fmt.Sprintf("%d jobs that fail once, mode %s, failure → next attempt, p50", len(gaps), mode)
		b.table.add(row{what: what, ours: secsFine(median(gaps)), must: "5 s", aim: "2 s"})
		b.table.add(row{what: "… longest", ours: secsFine(quantile(gaps, 1)), must: "5 s", aim: "2 s"})
	}
	return nil
}

// retry runs the jobs once and returns the times in seconds.
func (c *cluster) retry(ctx context.Context, mode string) (gaps []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	file := c.stampFile()
	var spec strings.Builder
	spec.WriteString(fullNodes("again", "execution_config: {mode: "+mode+"}\nfailure_handlers: [{name: again, rules: [{exit_codes: [75], max_retries: 2}]}]\n"))
	spec.WriteString("jobs:\n")
	for wave := range retryWaves {
		after := ""
		if wave > 0 {
			after = fmt.Sprintf(", depends_on_regexes: ['^w%d_']", wave-1)
		}
		fmt.Fprintf(&spec, "  - {name: 'w%d_{i}', command: './once.sh %s %d{i}', parameters: {i: '10:%d'}, resource_requirements: one, scheduler: node, failure_handler: again%s}\n",
			wave, file, wave, 9+clusterSlots, after)
	}
	if err := c.submit(ctx, "again", spec.String()); err != nil {
		return nil, err
	}
	lines, err := stamps(ctx, file, 2*retryWaves*clusterSlots)
	if err != nil {
		return nil, err
	}
	failed := map[float64]float64{}
	for _, l := range lines {
		if job, attempt, at := l[0], l[1], l[2]; attempt == 1 {
			failed[job] = at
		} else {
			gaps = append(gaps, at-failed[job])
		}
	}
	if len(gaps) != len(failed) {
		return nil, fmt.Errorf("%d jobs failed, %d were retried", len(failed), len(gaps))
	}
	_, err = c.released(ctx)
	return gaps, err
}
