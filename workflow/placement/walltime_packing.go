package placement

import "slices"

// WalltimePacking compares how long the ready jobs of a workflow run with how
// long its allocations last. Times are in seconds.
type WalltimePacking struct {
	Allocations          int // with a live runner
	WithWalltime         int // of these, those that end
	Unlimited            int // and those that do not
	ReadyJobs            int64
	ReadyJobsWithRuntime int64        // that declare how long they run
	Remaining            *SecondsSpan // of the allocations that end; nil if none does
	Runtime              *SecondsSpan // of the jobs that declare it; nil if none does
	// BlockedJobs run longer than any allocation lasts.
	BlockedJobs int64
	// TooShortForLongest counts the allocations in which the longest job would
	// not end.
	TooShortForLongest int
}

// SecondsSpan describes a set of times.
type SecondsSpan struct {
	Count  int64 `json:"count"`
	Min    int64 `json:"min_seconds"`
	Median int64 `json:"median_seconds"`
	Max    int64 `json:"max_seconds"`
}

// RuntimeCount is how many ready jobs declare a runtime, 0 for none.
type RuntimeCount struct {
	Seconds int64
	Jobs    int64
}

// RuntimeSlack is how many seconds longer than its allocation a job may claim
// to run before it counts as blocked by it: what it declares is a guess.
const RuntimeSlack = 120

// PackWalltime compares. remaining has an entry for each allocation, nil for
// one without end; a job may run longer than that by grace.
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

// spanOf describes times that each occur so many times; nil if there are none.
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
