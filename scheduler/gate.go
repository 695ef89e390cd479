package scheduler

import (
	"fmt"
	"math"
	"time"
)

// gate is how many allocations may be asked for in a pool now, and why not more.
type gate struct {
	left   int
	longer bool   // longer allocations would help
	spills bool   // the next pool may be asked instead
	probe  string // not empty: what is asked for is to see whether this is over
	kind   Kind   // of the action that tells what stands in the way
	until  time.Time
	reason string
}

// gate looks at what has become of earlier requests in a pool. Unproven are
// those there that have done no work yet.
func (a *AutoSchedule) gate(p *Pool, unproven int, now time.Time, set *Settings) *gate {
	switch f := p.Failures; {
	case p.Hold != nil && now.Before(p.Hold.Until):
		return &gate{kind: Wait, until: p.Hold.Until, reason: p.Hold.Reason, spills: p.Hold.Limit}
	case f.InARow >= a.GiveUpAfter:
		g := &gate{kind: Pause, reason: fmt.Sprintf("%s in a row did no work (%s)", countOf(int64(f.InARow), "allocation"), f.Reason)}
		due := f.Last.Add(set.probeDelay(f.InARow - a.GiveUpAfter))
		switch {
		case unproven > 0:
			g.reason += "; waiting for what becomes of the next"
		case now.Before(due):
			g.until = due
			g.reason += "; the next is tried later"
		default:
			g.left, g.probe = 1, g.reason
			g.reason += "; waiting for what becomes of the next"
		}
		return g
	case f.InARow > 0 && f.Refused && now.Before(f.Last.Add(set.retryDelay(f.InARow))):
		return &gate{kind: Wait, until: f.Last.Add(set.retryDelay(f.InARow)), reason: "Slurm refused the last request: " + f.Reason}
	case p.Room != nil:
		return &gate{left: max(*p.Room, 0), longer: true, kind: Wait, reason: "the site takes no more of your allocations now"}
	}
	return &gate{left: math.MaxInt}
}

// retryDelay is how long to wait after the last of so many noes.
func (s *Settings) retryDelay(noes int) time.Duration {
	delay := s.RetryAfter
	for ; noes > 1 && delay < s.RetryMax; noes-- {
		delay *= 2
	}
	return min(delay, s.RetryMax)
}

// probeDelay is how long to wait after the last of n more failures than were
// tolerated.
func (s *Settings) probeDelay(n int) time.Duration {
	delay := s.ProbeAfter
	for ; n > 0 && delay < s.ProbeMax; n-- {
		delay *= 2
	}
	return min(delay, s.ProbeMax)
}
