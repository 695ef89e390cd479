package slurm

import (
	"testing"
	"time"
)

func TestCutShort(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		state State
		start time.Time
		lived time.Duration
		limit time.Duration
		left  time.Duration
		is    bool
	}{
		"preempted":        {Timeout, start, 8 * time.Second, 10 * time.Minute, 592 * time.Second, true},
		"out of time":      {Timeout, start, 10*time.Minute + 12*time.Second, 10 * time.Minute, -12 * time.Second, false},
		"to the second":    {Timeout, start, 10*time.Minute - time.Second, 10 * time.Minute, time.Second, false},
		"suspended":        {Timeout, start, 2 * time.Hour, 10 * time.Minute, -110 * time.Minute, false},
		"no limit":         {Timeout, start, time.Minute, Unlimited, 0, false},
		"unknown limit":    {Timeout, start, time.Minute, 0, 0, false},
		"unknown start":    {Timeout, time.Time{}, time.Minute, 10 * time.Minute, 0, false},
		"failed by itself": {Failed, start, time.Minute, 10 * time.Minute, 0, false},
	} {
		left, is := CutShort(tc.state, tc.start, start.Add(tc.lived), tc.limit)
		if left != tc.left || is != tc.is {
			t.Errorf("%s: %v, %v; want %v, %v", name, left, is, tc.left, tc.is)
		}
	}
}
