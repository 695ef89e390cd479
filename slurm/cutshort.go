package slurm

import (
	"fmt"
	"time"
)

// CutShort reports whether a TIMEOUT was none, and says why. A job that is
// preempted with a grace time, and ends by itself within it, is TIMEOUT for
// squeue and sacct (measured with 22.05): the preemption has moved its end, not
// its limit.
func CutShort(state State, start, end time.Time, limit time.Duration) (why string, is bool) {
	if state != Timeout {
		return "", false
	}
	left, is := shortened(start, end, limit)
	return fmt.Sprintf("%s with %s of its time limit left, as after a preemption with a grace time", Timeout, left.Round(time.Second)), is
}

// Hastened reports whether Slurm has moved the end of a running job forward, as
// it does with one that is preempted with a grace time, and says why that is
// believed. Whoever changes the time limit of a job changes both.
func (j *Job) Hastened() (why string, is bool) {
	if j.State != Running {
		return "", false
	}
	left, is := shortened(j.Start, j.End, j.TimeLimit)
	return fmt.Sprintf("its end was moved forward with %s of its time limit left, as for a preemption with a grace time", left.Round(time.Second)), is
}

// shortened reports whether a job ends before its limit, and how much of that
// is left then.
func shortened(start, end time.Time, limit time.Duration) (left time.Duration, is bool) {
	// Slurm never ends a job before its limit, but counts in seconds.
	const slack = 10 * time.Second
	if start.IsZero() || end.IsZero() || limit <= 0 || limit == Unlimited {
		return 0, false
	}
	left = limit - end.Sub(start)
	return left, left > slack
}
