package slurm

import (
	"strings"
	"testing"
	"time"
)

func TestMovedForward(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		state State
		end   time.Duration // after the start
		want  string        // empty: its end was not moved
	}{
		"preempted":            {Running, 20 * time.Second, "9m40s of its time limit left"},
		"not moved":            {Running, 10 * time.Minute, ""},
		"suspended in between": {Running, 11 * time.Minute, ""},
		"has ended":            {Completing, 20 * time.Second, ""},
	} {
		job := Job{State: tc.state, Start: start, End: start.Add(tc.end), TimeLimit: 10 * time.Minute}
		why, is := job.MovedForward()
		if is != (tc.want != "") || is && !strings.Contains(why, tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, why, is, tc.want)
		}
	}
}
