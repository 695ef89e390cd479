package placement

import "slices"

// WalltimePacking compares the runtimes of a workflow's ready jobs with the time that
// its allocations have left. Times are in seconds.
type WalltimePacking struct {
	Allocations          int // with a live runner
	WithWalltime         int // of these, those with a time limit
	Unlimited            int // and those without one
	ReadyJobs            int64
	ReadyJobsWithRuntime int64        // ready jobs that declare a runtime
	Remaining            *SecondsSpan // of the allocations with a time limit; nil if there are none
	Runtime              *SecondsSpan // of the jobs that declare one; nil if there are none
	// BlockedJobs counts the jobs that run longer than any allocation lasts.
	BlockedJobs int64
	// TooShortForLongest counts the allocations that end before the longest job would.
	TooShortForLongest int
}

// SecondsSpan summarizes a set of durations.
type SecondsSpan struct {
	Count  int64 `json:"count"`
	Min    int64 `json:"min_seconds"`
	Median int64 `json:"median_seconds"`
	Max    int64 `json:"max_seconds"`
}

// RuntimeCount is the number of ready jobs that declare a runtime; Seconds is 0 for jobs
// that declare none.
type RuntimeCount struct {
	Seconds int64
	Jobs    int64
}

// RuntimeSlack is how many seconds longer than its allocation a job may declare to run
// before it counts as blocked, because declared runtimes are estimates.
const RuntimeSlack = 120

// PackWalltime compares runtimes with the time left. The slice remaining has an entry for
// each allocation, nil for one without a time limit. A job may exceed the time left by
// grace seconds.
func PackWalltime(remaining []*int64, ready []RuntimeCount, grace int64) WalltimePacking {
	p := WalltimePacking{Allocations: len(remaining)}
	var left []RuntimeCount
	for _, s := range remaining {
		if s == nil {
			p.Unlimited++
			continue
		}
		p.WithWalltime++
		left = append(left, RuntimeCount{Seconds: *s, Jobs: 1})
	}
	var declared []RuntimeCount
	for _, r := range ready {
		p.ReadyJobs += r.Jobs
		if r.Seconds > 0 && r.Jobs > 0 {
			declared = append(declared, r)
			p.ReadyJobsWithRuntime += r.Jobs
		}
	}
	p.Remaining, p.Runtime = spanOf(left), spanOf(declared)
	if p.Unlimited > 0 || p.Remaining == nil || p.Runtime == nil {
		return p
	}
	for _, r := range declared {
		if r.Seconds > p.Remaining.Max+grace {
			p.BlockedJobs += r.Jobs
		}
	}
	for _, s := range left {
		if p.Runtime.Max > s.Seconds+grace {
			p.TooShortForLongest++
		}
	}
	return p
}

// spanOf summarizes durations, each with its number of occurrences; it returns nil if
// there are none.
func spanOf(times []RuntimeCount) *SecondsSpan {
	if len(times) == 0 {
		return nil
	}
	slices.SortFunc(times, func(a, b RuntimeCount) int { return int(a.Seconds - b.Seconds) })
	s := &SecondsSpan{Min: times[0].Seconds, Max: times[len(times)-1].Seconds}
	for _, t := range times {
		s.Count += t.Jobs
	}
	before := int64(0)
	for _, t := range times {
		before += t.Jobs
		if 2*before >= s.Count {
			s.Median = t.Seconds
			break
		}
	}
	return s
}
