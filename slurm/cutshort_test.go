package slurm

import (
	"strings"
	"testing"
	"time"
)

func TestCutShort(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		state State // of a record
		start time.Time
		lived time.Duration
		limit time.Duration
		want  string // empty: it was not cut short
	}{
		"preempted":        {Timeout, start, 8 * time.Second, 10 * time.Minute, "TIMEOUT with 9m52s of its time limit left"},
		"out of time":      {Timeout, start, 10*time.Minute + 12*time.Second, 10 * time.Minute, ""},
		"to the second":    {Timeout, start, 10*time.Minute - time.Second, 10 * time.Minute, ""},
		"suspended":        {Timeout, start, 2 * time.Hour, 10 * time.Minute, ""},
		"no limit":         {Timeout, start, time.Minute, Unlimited, ""},
		"unknown limit":    {Timeout, start, time.Minute, 0, ""},
		"unknown start":    {Timeout, time.Time{}, time.Minute, 10 * time.Minute, ""},
		"failed by itself": {Failed, start, time.Minute, 10 * time.Minute, ""},
	} {
		why, is := CutShort(tc.state, tc.start, start.Add(tc.lived), tc.limit)
		if is != (tc.want != "") || is && !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, why, is, tc.want)
		}
	}
}

func TestHastened(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		state State
		end   time.Duration // after the start
		want  string        // empty: it was not hastened
	}{
		"preempted":           {Running, 20 * time.Second, "9m40s of its time limit left"},
		"left alone":          {Running, 10 * time.Minute, ""},
		"suspended meanwhile": {Running, 11 * time.Minute, ""},
		"has ended":           {Completing, 20 * time.Second, ""},
	} {
		job := Job{State: tc.state, Start: start, End: start.Add(tc.end), TimeLimit: 10 * time.Minute}
		why, is := job.Hastened()
		if is != (tc.want != "") || is && !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, why, is, tc.want)
		}
	}
}
