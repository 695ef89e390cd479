package scheduler

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// TestFactsDue: facts of the cluster are read if jobs have a place, or something is requested or
// limited, and not more often than needed.
func TestFactsDue(t *testing.T) {
	wait := func(action int64) []Action { return []Action{{Kind: Wait, ActionID: action}} }
	for name, tc := range map[string]struct {
		d    Decision
		age  time.Duration
		due  bool
		late bool // before a plan is carried out
	}{
		"nothing to do":                     {Decision{}, time.Hour, false, false},
		"a job fits nowhere":                {Decision{Coverage: []Coverage{{Ready: 1, Uncovered: 1}}}, time.Hour, false, false},
		"jobs have a place":                 {Decision{Coverage: []Coverage{{Ready: 1, Pending: 1}}}, FactsEvery, true, false},
		"jobs have a place, asked lately":   {Decision{Coverage: []Coverage{{Ready: 1, Live: 1}}}, FactsEvery - time.Second, false, false},
		"a request":                         {Decision{Actions: []Action{{Kind: Submit}}}, FactsEvery, true, true},
		"a request, asked lately":           {Decision{Actions: []Action{{Kind: Probe}}}, FactsNew, false, true},
		"a request, asked just now":         {Decision{Actions: []Action{{Kind: Submit}}}, FactsNew - time.Second, false, false},
		"the default of a limit":            {Decision{Actions: wait(1)}, FactsEvery, true, false},
		"claims are held, jobs are delayed": {Decision{Actions: wait(0)}, time.Hour, false, false},
	} {
		if tc.d.FactsDue(tc.age) != tc.due || tc.d.FactsOld(tc.age) != tc.late {
			t.Errorf("%s: %t, %t", name, tc.d.FactsDue(tc.age), tc.d.FactsOld(tc.age))
		}
	}
}

// TestForesee: what finished jobs needed is what others of their class are expected to need, once
// enough of them have finished.
func TestForesee(t *testing.T) {
	ran := func(n int) map[int64]forecast.Runtimes {
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Minute
		}
		return map[int64]forecast.Runtimes{1: forecast.RuntimesOf(all)}
	}
	for n, known := range map[int]bool{0: false, forecast.EnoughRuntimes - 1: false, forecast.EnoughRuntimes: true} {
		s := sweep(4, clusterOf(4))
		running := []Running{{ClassID: 1, Declared: 5 * time.Minute, Until: noon.Add(5 * time.Minute)}}
		s.Allocations = []Allocation{{ID: 1, State: Active, Running: running}}
		s.Foresee(ahead(&s, 3), ran(n))
		if likely := s.Demand[0].LikelySeconds; (likely > 0) != known || known && (likely < 60 || likely > 80) || len(s.Ahead) != 1 || s.Ahead[0].LikelySeconds != likely {
			t.Errorf("%d finished: %d s, ahead %+v", n, likely, s.Ahead)
		}
		if until := s.Allocations[0].Running[0].Until; until.Before(noon.Add(2*time.Minute)) != known || !running[0].Until.Equal(noon.Add(5*time.Minute)) {
			t.Errorf("%d finished: the running one until %s, %s in the list of the caller", n, until, running[0].Until)
		}
	}
}
