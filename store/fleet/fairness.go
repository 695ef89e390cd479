package fleet

import (
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// passedOverLimit is how long smaller jobs may overtake a class of large ones before a
// runner reserves room for it.
const passedOverLimit = 10 * time.Minute

// reserve reserves room in the claim's packer for classes that have been overtaken for too
// long.
func reserve(f *core.Fairness, c *Claim, ready []placement.Class) {
	now := c.tx.NowMS
	total := c.runner.TotalOffer(c.offer.TimeLeftSeconds)
	for _, k := range ready {
		if fits, _ := c.packer.Fits(k); fits {
			delete(f.Passed, k.ID)
			continue
		}
		if fits, _ := placement.NewPacker(total).Fits(k); !fits {
			continue
		}
		p := f.Passed[k.ID]
		if p == nil || now-p.SeenMS > passedOverLimit.Milliseconds() {
			p = &core.PassedOver{SinceMS: now}
			if f.Passed == nil {
				f.Passed = map[int64]*core.PassedOver{}
			}
			f.Passed[k.ID] = p
		}
		p.SeenMS = now
		if now-p.SinceMS < passedOverLimit.Milliseconds() || p.Runner != 0 && p.Runner != c.runner.ID {
			continue
		}
		whole := total
		whole.Nodes = make([]placement.FreeNode, len(c.offer.Nodes))
		for i := range whole.Nodes {
			whole.Nodes[i] = c.runner.Total
		}
		if c.packer.Reserve(k, whole) {
			p.Runner = c.runner.ID
		}
	}
}
