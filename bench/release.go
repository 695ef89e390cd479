package main

import (
	"context"
	"fmt"
	"time"
)

// releaseRuns is the number of workflows of one job in a round.
const releaseRuns = 5

// runRelease measures how long an allocation outlives its last job with the default
// settings.
func runRelease(ctx context.Context, b *bench) error {
	var gaps []float64
	for range b.rounds {
		err := b.onCluster(ctx, func(ctx context.Context, c *cluster) error {
			for i := range releaseRuns {
				var one makespan
				way := submitter{"one job", 1, func(ctx context.Context, c *cluster, _ int, stamps string) error {
					return c.submit(ctx, fmt.Sprintf("single%d", i), fmt.Sprintf("name: single\njobs: [{name: only, command: './second.sh %s'}]\n", stamps))
				}}
				if err := one.measure(ctx, c, &way); err != nil {
					return err
				}
				gaps = append(gaps, one.release...)
				if err := pause(ctx, time.Second); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.table.add(row{what: fmt.Sprintf("last job's end → allocation over for squeue, p50 of %d workflows", len(gaps)), ours: secsFine(median(gaps)), must: "10 s", aim: "3 s"})
	b.table.add(row{what: "… longest", ours: secsFine(quantile(gaps, 1)), must: "10 s", aim: "3 s"})
	return nil
}
