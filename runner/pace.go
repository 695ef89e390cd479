package runner

import "time"

// aheadTime is how much work a runner wants to have at hand, so that CPUs are
// not idle while it asks for more. Jobs that run longer than that are not
// taken ahead: another runner could start them at once.
const aheadTime = 100 * time.Millisecond

// maxAhead and maxAheadTotal bound the jobs taken ahead, per slot and in all:
// each turn lists them.
const (
	maxAhead      = 64
	maxAheadTotal = 1000
)

// pace follows how long jobs run.
type pace struct {
	mean time.Duration
	seen int
}

// ended takes in the run time of an attempt.
func (p *pace) ended(d time.Duration) {
	p.seen++
	if p.seen == 1 {
		p.mean = d
		return
	}
	p.mean += (d - p.mean) / 8
}

// ahead returns how many jobs to have waiting when slots run at a time.
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
