package scheduler

import (
	"fmt"
	"math"
	"time"
)

// gate says how many allocations may be requested in a pool now, and why not more.
type gate struct {
	left   int
	longer bool   // longer allocations would help
	spills bool   // the next pool may be used instead
	probe  string // not empty: the request tests whether this problem is over
	kind   Kind   // of the action that reports the reason
	until  time.Time
	reason string
}

// gate returns the gate of a pool after the results of earlier requests there. Unproven is
// the number of its allocations that have done no work yet.
func (a *AutoSchedule) gate(p *Pool, unproven int, now time.Time, set *Settings) *gate {
	switch f := p.Failures; {
	case p.Hold != nil && now.Before(p.Hold.Until):
		return &gate{kind: Wait, until: p.Hold.Until, reason: p.Hold.Reason, spills: p.Hold.Limit}
	case f.InARow >= a.GiveUpAfter:
		g := &gate{kind: Pause, reason: fmt.Sprintf("%s in a row did no work (%s)", countOf(int64(f.InARow), "allocation"), f.Reason)}
		due := f.Last.Add(set.probeDelay(f.InARow - a.GiveUpAfter))
		switch {
		case unproven > 0:
			g.reason += "; waiting for the result of the next"
		case now.Before(due):
			g.until = due
			g.reason += "; the next is tried later"
		default:
			g.left, g.probe = 1, g.reason
			g.reason += "; waiting for the result of the next"
		}
		return g
	case f.InARow > 0 && f.Refused && now.Before(f.Last.Add(set.retryDelay(f.InARow))):
		return &gate{kind: Wait, until: f.Last.Add(set.retryDelay(f.InARow)), reason: "Slurm refused the last request: " + f.Reason}
	case p.Room != nil:
		return &gate{left: max(*p.Room, 0), longer: true, kind: Wait, reason: "the site accepts no more of your allocations now"}
	}
	return &gate{left: math.MaxInt}
}

// retryDelay returns how long to wait after a number of refusals in a row.
func (s *Settings) retryDelay(refusals int) time.Duration {
	delay := s.RetryAfter
	for ; refusals > 1 && delay < s.RetryMax; refusals-- {
		delay *= 2
	}
	return min(delay, s.RetryMax)
}

// probeDelay returns how long to wait after n more failures than are tolerated.
func (s *Settings) probeDelay(n int) time.Duration {
	delay := s.ProbeAfter
	for ; n > 0 && delay < s.ProbeMax; n-- {
		delay *= 2
	}
	return min(delay, s.ProbeMax)
}
