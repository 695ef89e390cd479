package store

import (
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// passedOverLimit is how long a class of big jobs is passed over for smaller ones
// before a runner keeps room for it.
const passedOverLimit = 10 * time.Minute

// fairness remembers which classes are passed over, though a runner could take
// their jobs if it ran nothing else. It belongs to the writer's goroutine, and
// begins anew with the daemon: nothing depends on it but the order of jobs.
type fairness struct {
	passed map[int64]*passedOver // by class
}

// passedOver is a class that is being passed over.
type passedOver struct {
	sinceMS int64
	seenMS  int64
	runner  int64 // the runner that keeps room for it; 0 while none does
}

// reserve keeps room in the claim's packer for the classes that have been
// passed over for too long.
func (f *fairness) reserve(c *claim, ready []workflow.Class) {
	now := c.tx.nowMS
	total := c.runner.totalOffer(c.offer.TimeLeftSeconds)
	for _, k := range ready {
		if fits, _ := c.packer.Fits(k); fits {
			delete(f.passed, k.ID)
			continue
		}
		if fits, _ := workflow.NewPacker(total).Fits(k); !fits {
			continue
		}
		p := f.passed[k.ID]
		if p == nil || now-p.seenMS > passedOverLimit.Milliseconds() {
			p = &passedOver{sinceMS: now}
			if f.passed == nil {
				f.passed = map[int64]*passedOver{}
			}
			f.passed[k.ID] = p
		}
		p.seenMS = now
		if now-p.sinceMS < passedOverLimit.Milliseconds() || p.runner != 0 && p.runner != c.runner.id {
			continue
		}
		whole := total
		whole.Nodes = make([]workflow.OfferNode, len(c.offer.Nodes))
		for i := range whole.Nodes {
			whole.Nodes[i] = c.runner.total
		}
		if c.packer.Reserve(k, whole) {
			p.runner = c.runner.id
		}
	}
}
