package scheduler

import (
	"cmp"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Settings are what the plan counts with, the same for all workflows. A field
// that is 0 has its default.
type Settings struct {
	Margins workflow.Margins
	// MinWalltime is the least that is asked for where the plan chooses; less is
	// not worth a place in Slurm's queue.
	MinWalltime time.Duration
	// Work is how long an allocation is kept busy, where the plan chooses: jobs
	// shorter than this run one after the other. Where MaxAllocations would not
	// be enough, it is more, up to LongestWork.
	Work, LongestWork time.Duration
	// After GiveUpAfter failures one allocation is tried ProbeAfter later, then
	// after twice that time, and so on up to ProbeMax.
	ProbeAfter, ProbeMax time.Duration
	// After a no of Slurm it is asked again RetryAfter later, then after twice
	// that time, and so on up to RetryMax.
	RetryAfter, RetryMax time.Duration
	// Requeue: Slurm may start allocations again by itself. One whose runners are
	// gone before its time is waited for ReturnFor, until Slurm has said what
	// becomes of it. One that it has put back into its queue is counted on if it
	// may start within RequeuedFor.
	Requeue                bool
	ReturnFor, RequeuedFor time.Duration
	// WidenAfter is how long an allocation waits for its turn before another
	// partition may take it too.
	WidenAfter time.Duration
}

func (s Settings) withDefaults() Settings {
	if s.Margins == (workflow.Margins{}) {
		s.Margins = workflow.MarginsOf(nil)
	}
	s.MinWalltime = cmp.Or(s.MinWalltime, 5*time.Minute)
	s.Work = cmp.Or(s.Work, time.Hour)
	s.LongestWork = cmp.Or(s.LongestWork, 24*time.Hour)
	s.ProbeAfter = cmp.Or(s.ProbeAfter, 5*time.Minute)
	s.ProbeMax = cmp.Or(s.ProbeMax, time.Hour)
	s.RetryAfter = cmp.Or(s.RetryAfter, 30*time.Second)
	s.ReturnFor = cmp.Or(s.ReturnFor, 30*time.Second)
	s.RequeuedFor = cmp.Or(s.RequeuedFor, 10*time.Minute)
	s.WidenAfter = cmp.Or(s.WidenAfter, 15*time.Minute)
	s.RetryMax = cmp.Or(s.RetryMax, 10*time.Minute)
	return s
}

// AutoSchedule is an action auto_schedule_on_ready_jobs of a workflow. A limit
// that is 0 has its default.
type AutoSchedule struct {
	ActionID int64
	// Nothing is asked for before so many ready jobs lack a place, or the oldest
	// of them has waited so long, or no others can join them.
	MinReadyJobs int64         // default 1
	MaxReadyAge  time.Duration // default 2 min
	// MaxAllocations counts live and pending allocations, also those that a
	// person asked for; default 10.
	MaxAllocations     int
	MaxSubmitPerMinute int         // default 6
	GiveUpAfter        int         // failures in a row; default 5
	Submitted          []time.Time // when it asked for one, the last minute at least
	// Follows is the scheduler whose actions have asked for their allocations: what
	// is left without a place gets others of it. MaxAllocations is then as many as
	// these actions asked for, and counts all of that scheduler, whoever asked.
	Follows *int64
}

func (a AutoSchedule) withDefaults() AutoSchedule {
	a.MinReadyJobs = cmp.Or(a.MinReadyJobs, 1)
	a.MaxReadyAge = cmp.Or(a.MaxReadyAge, 2*time.Minute)
	a.MaxAllocations = cmp.Or(a.MaxAllocations, 10)
	a.MaxSubmitPerMinute = cmp.Or(a.MaxSubmitPerMinute, 6)
	a.GiveUpAfter = cmp.Or(a.GiveUpAfter, 5)
	return a
}

// rate returns how many submissions the minute has left, and when there is one
// more if these are made now.
func (a *AutoSchedule) rate(now time.Time) (left int, next time.Time) {
	left, next = a.MaxSubmitPerMinute, now.Add(time.Minute)
	for _, at := range a.Submitted {
		if end := at.Add(time.Minute); end.After(now) {
			left--
			if end.Before(next) {
				next = end
			}
		}
	}
	return max(left, 0), next
}
