package view

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// WalltimeOf is how long an allocation lasts: what was asked for, or, of a runner
// in none, from its start to its end; 0 without end.
func WalltimeOf(askedS int64, start, end string) time.Duration {
	if askedS > 0 || end == "" {
		return time.Duration(askedS) * time.Second
	}
	from, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return 0
	}
	to, err := time.Parse(time.RFC3339, end)
	if err != nil {
		return 0
	}
	return to.Sub(from)
}

// WholeSeconds is the longest runtime that a job may declare to start in what is
// left of a walltime until its end, if that is fresh.
func WholeSeconds(walltime time.Duration, end string, nowMS int64) int64 {
	t, err := time.Parse(time.RFC3339, end)
	if err != nil {
		return 0
	}
	return int64(placement.WholeRuntime(walltime, t.Sub(time.UnixMilli(nowMS))) / time.Second)
}
