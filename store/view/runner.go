package view

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// WalltimeOf returns how long an allocation lasts: the requested time or, for a runner
// without allocation, the time from start to end; 0 without an end.
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

// WholeSeconds returns the longest runtime that a job may declare to start in the rest of a
// fresh walltime.
func WholeSeconds(walltime time.Duration, end string, nowMS int64) int64 {
	t, err := time.Parse(time.RFC3339, end)
	if err != nil {
		return 0
	}
	return int64(placement.WholeRuntime(walltime, t.Sub(time.UnixMilli(nowMS))) / time.Second)
}
