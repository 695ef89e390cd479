package scheduler

import (
	"strings"
	"testing"
	"time"
)

// TestScouts: short allocations of one job go along with much longer ones that have to queue, as long
// as it is not known how long the jobs run.
func TestScouts(t *testing.T) {
	for name, tc := range map[string]struct {
		free   []int64
		jobs   int64
		change func(*Snapshot)
		want   int // scouts
	}{
		"stages that declare an hour in all":       {[]int64{0, 0, 0, 0}, 16, nil, 6},
		"no more allocations than jobs":            {[]int64{0, 0, 0, 0}, 6, nil, 0},
		"they start at once":                       {[]int64{4, 4, 4, 4}, 16, nil, 0},
		"it is known how long the jobs run":        {[]int64{0, 0, 0, 0}, 16, func(s *Snapshot) { s.Demand[0].LikelySeconds = 300 }, 0},
		"the walltime is the user's":               {[]int64{0, 0, 0, 0}, 16, func(s *Snapshot) { s.Pools[0].Walltime = time.Hour }, 0},
		"not much longer":                          {[]int64{0, 0, 0, 0}, 16, func(s *Snapshot) { s.Ahead = ahead(s, 16) }, 0},
		"nothing is requested later because of it": {[]int64{0, 0, 0, 0}, 16, func(s *Snapshot) { s.Actions[0].MaxSubmitPerMinute = 9 }, 1},
		"max_allocations":                          {[]int64{0, 0, 0, 0}, 16, func(s *Snapshot) { s.Actions[0].MaxAllocations = 10 }, 2},
		"the action has requested some":            {[]int64{0, 0, 0, 0}, 16, func(s *Snapshot) { s.Allocations = []Allocation{pendingAt(1, time.Hour, time.Hour)} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := sweep(tc.jobs, clusterOf(tc.free...))
			s.Ahead = ahead(&s, tc.jobs, tc.jobs, tc.jobs, tc.jobs, tc.jobs, tc.jobs, tc.jobs, tc.jobs, tc.jobs)
			s.Actions[0].MaxAllocations = 14 // fewer than jobs
			if tc.change != nil {
				tc.change(&s)
			}
			d := Plan(s)
			scouts, others := 0, 0
			for _, a := range d.Actions {
				switch {
				case a.Kind == Submit && strings.Contains(a.Reason, "how long the jobs run"):
					if scouts += a.Count; a.Shape.Node.CPUs != 1 || a.Shape.Walltime != 6*time.Minute || others > 0 {
						t.Errorf("a scout: %+v", a)
					}
				case a.Kind == Submit:
					others += a.Count
				}
			}
			if scouts != tc.want || others == 0 && tc.free != nil && name != "the action has requested some" {
				t.Errorf("%d scouts, want %d, %d others: %+v", scouts, tc.want, others, d.Actions)
			}
			after := carriedOut(s, d)
			if again := deeds(Plan(after)); len(again) > 0 && name != "nothing is requested later because of it" {
				t.Errorf("and then %+v", again)
			}
		})
	}
}
