package runner

import "time"

// aheadTime is how much work a runner keeps at hand, so that CPUs are not idle while
// it polls for more. Jobs that run longer are not taken ahead, since another runner
// could start them at once.
const aheadTime = 100 * time.Millisecond

// maxAhead and maxAheadTotal limit the jobs taken ahead, per slot and in all, because
// each turn lists them.
const (
	maxAhead      = 64
	maxAheadTotal = 1000
)

// pace is the running mean of how long jobs run.
type pace struct {
	mean time.Duration
	seen int
}

// ended adds the run time of an attempt.
func (p *pace) ended(d time.Duration) {
	p.seen++
	if p.seen == 1 {
		p.mean = d
		return
	}
	p.mean += (d - p.mean) / 8
}

// ahead returns how many jobs to keep waiting if slots jobs run at a time.
func (p *pace) ahead(slots int64) int64 {
	if p.seen < 4 {
		return 0
	}
	perSlot := int64(maxAhead)
	if p.mean > 0 {
		perSlot = min(perSlot, int64(aheadTime/p.mean))
	}
	return min(slots*perSlot, maxAheadTotal)
}
