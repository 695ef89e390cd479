package slurm

import "time"

// CutShort reports whether a TIMEOUT was none, and how much of the time limit
// was left. A job that is preempted with a grace time, and ends by itself within
// it, is TIMEOUT for squeue and sacct (measured with 22.05): the preemption has
// moved its end, not its limit.
func CutShort(state State, start, end time.Time, limit time.Duration) (left time.Duration, is bool) {
	// Slurm never ends a job before its limit, but counts in seconds.
	const slack = 10 * time.Second
	if state != Timeout || start.IsZero() || end.IsZero() || limit <= 0 || limit == Unlimited {
		return 0, false
	}
	left = limit - end.Sub(start)
	return left, left > slack
}
