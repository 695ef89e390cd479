package scheduler

import (
	"cmp"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Settings are the constants of the plan, the same for all workflows. A field
// that is 0 has its default.
type Settings struct {
	Margins placement.Margins
	// MinWalltime is the shortest walltime that the plan chooses; less is
	// not worth a place in Slurm's queue.
	MinWalltime time.Duration
	// Work is how long an allocation is kept busy, where the plan chooses: shorter
	// jobs run one after the other. If MaxAllocations are not
	// enough, it is more, up to LongestWork.
	Work, LongestWork time.Duration
	// After GiveUpAfter failures one allocation is requested ProbeAfter later, then
	// after twice that time, and so on up to ProbeMax.
	ProbeAfter, ProbeMax time.Duration
	// After a refusal the next request follows RetryAfter later, then after twice
	// that time, and so on up to RetryMax.
	RetryAfter, RetryMax time.Duration
	// Requeue: Slurm may restart allocations by itself. If the runners of an allocation are
	// gone before its end, it counts as supply for ReturnFor, until Slurm has been
	// polled. A requeued one counts if it may start within RequeuedFor.
	Requeue                bool
	ReturnFor, RequeuedFor time.Duration
	// WidenAfter is how long an allocation is pending before it may also start in another
	// partition.
	WidenAfter time.Duration
}

func (s Settings) withDefaults() Settings {
	if s.Margins == (placement.Margins{}) {
		s.Margins = placement.MarginsOf(nil)
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
	// Nothing is requested before MinReadyJobs lack a place, or the oldest
	// of them has waited for MaxReadyAge, or no others can become ready.
	MinReadyJobs int64         // default 1
	MaxReadyAge  time.Duration // default 2 min
	// MaxAllocations counts live and pending allocations, including those that a
	// person requested; default 64, without a forecast 10.
	MaxAllocations     int
	MaxSubmitPerMinute int         // default 20, without a forecast 6
	GiveUpAfter        int         // failures in a row; default 5
	Prefer             Preference  // default PreferBalanced
	Submitted          []time.Time // times of its requests, at least of the last minute
	// Canceled are the times at which pending ones of it were canceled that nobody needed any more:
	// for some time after that, nothing is requested for jobs that have a place.
	Canceled []time.Time
	// Follows is the scheduler whose actions have requested their allocations: jobs
	// without a place get others of it. MaxAllocations is then the number that
	// these actions requested, and counts all allocations of that scheduler.
	Follows *int64
}

// withDefaults sets the limits that nobody has set. A plan that does not know how long
// allocations wait requests few.
func (a AutoSchedule) withDefaults(foreseen bool) AutoSchedule {
	if foreseen {
		a.MaxAllocations, a.MaxSubmitPerMinute = cmp.Or(a.MaxAllocations, 64), cmp.Or(a.MaxSubmitPerMinute, 20)
	}
	a.MinReadyJobs = cmp.Or(a.MinReadyJobs, 1)
	a.MaxReadyAge = cmp.Or(a.MaxReadyAge, 2*time.Minute)
	a.MaxAllocations = cmp.Or(a.MaxAllocations, 10)
	a.MaxSubmitPerMinute = cmp.Or(a.MaxSubmitPerMinute, 6)
	a.Prefer = cmp.Or(a.Prefer, PreferBalanced)
	a.GiveUpAfter = cmp.Or(a.GiveUpAfter, 5)
	return a
}

// rate returns how many submissions the minute still allows, and when the next one is
// allowed if these are made now.
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
