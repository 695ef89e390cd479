package scheduler

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// How long facts are used. As long as nothing is requested, newer ones are only read now and then,
// to see whether more allocations would help.
const (
	FactsNew   = 30 * time.Second
	FactsEvery = 5 * time.Minute
	FactsLast  = 10 * time.Minute
	JobsEvery  = 30 * time.Second // facts of jobs, which cost no call of Slurm
)

// FactsDue reports whether a forecast for this plan, which has none, needs newer facts of the cluster
// than those that were asked for some time ago. As long as no job is ready that fits an allocation,
// nothing is asked.
func (d *Decision) FactsDue(age time.Duration) bool {
	placed := slices.ContainsFunc(d.Coverage, func(c Coverage) bool { return c.Live+c.Pending > 0 })
	// A limit of an action may be another with a forecast, such as the default of max_allocations.
	limited := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Kind == Wait && a.ActionID != 0 })
	return (placed || limited || d.requests()) && age >= FactsEvery
}

// FactsOld reports whether the facts of the cluster are read again before this plan is carried out:
// it requests allocations.
func (d *Decision) FactsOld(age time.Duration) bool { return d.requests() && age >= FactsNew }

// requests reports whether the plan requests allocations.
func (d *Decision) requests() bool {
	return slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Kind == Submit || a.Kind == Probe })
}

// Foresee adds what a forecast knows of the jobs: those that are blocked, and by class how long
// finished ones ran. The lists of s are changed, except those of the jobs that run.
func (s *Snapshot) Foresee(ahead []Ahead, runtimes map[int64]forecast.Runtimes) {
	for i := range s.Demand {
		d := &s.Demand[i]
		d.LikelySeconds = likelySeconds(runtimes[d.ID], d.seconds())
	}
	for _, a := range ahead {
		a.LikelySeconds = likelySeconds(runtimes[a.ID], a.RuntimeSeconds)
		s.Ahead = append(s.Ahead, a)
	}
	for i := range s.Allocations {
		a := &s.Allocations[i]
		a.Running = slices.Clone(a.Running)
		for k := range a.Running {
			r := &a.Running[k]
			r.Until = r.Until.Add(runtimes[r.ClassID].Likely(r.Declared) - r.Declared)
		}
	}
}

// likelySeconds returns how long a job is likely to run; 0 if that is not known.
func likelySeconds(r forecast.Runtimes, declared int64) int64 {
	if r.Count < forecast.EnoughRuntimes {
		return 0
	}
	return int64(r.Likely(time.Duration(declared)*time.Second) / time.Second)
}
