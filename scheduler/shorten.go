package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// shortenTo is how much of its walltime an allocation must still need, in percent, to be left as
// it is.
const shortenTo = 60

// shortenEvery is how long a shortened allocation is left alone.
const shortenEvery = 10 * time.Minute

// shorten lowers the time limit of pending allocations that have less to do than when they were
// requested, as others have taken their jobs. They keep their place, and shorter ones are started
// sooner by backfill. As long as more jobs may become ready than follow the ready ones in their
// places, nothing is changed.
func (p *planner) shorten(o *outlook) {
	lacking := slices.ContainsFunc(p.wants, func(w *want) bool { return w.left > 0 })
	if o == nil || lacking || !p.knowsAll() {
		return
	}
	loads, counts := p.loads()
	rooms := make([]room, len(o.slots))
	by, _ := level(o.slots, startLikely, loads, counts)
	fill(o.slots, rooms, startLikely, loads, counts, by)
	for i := range o.slots {
		s := &o.slots[i]
		pool := p.pools[s.Shape.Pool]
		if pool == nil || pool.Walltime > 0 || s.ActionID == 0 || s.State != Pending || s.Fixed || !s.queued() || rooms[i].bound == 0 ||
			p.Now.Sub(s.Asked) < replaceable || p.Now.Sub(s.Shortened) < shortenEvery || !slices.Contains(p.supply, s.Allocation) {
			continue
		}
		bound := rooms[i].bound
		for k, w := range p.wants { // it lasts for all that follows
			if w.follows > 0 && s.admits[k] {
				bound = max(bound, w.depth()*loads[k].seconds+loads[k].longest()-loads[k].seconds)
			}
		}
		need := max(p.set.Margins.Walltime(time.Duration(bound)*time.Second), p.set.MinWalltime)
		if need*100 > s.Shape.Walltime*shortenTo {
			continue
		}
		shape := s.Shape
		shape.Walltime = need
		p.act(Action{Kind: Shorten, ActionID: s.ActionID, Pool: pool.Name, Allocation: s.ID, Shape: shape,
			Reason: fmt.Sprintf("pending since %s, and its jobs need %s by now instead of %s", s.Asked.Format("15:04:05"), inWords(need), inWords(s.Shape.Walltime))})
	}
}

// carryOutShorten lowers the time limit of an allocation in Slurm's queue. If Slurm refuses, this
// is not repeated.
func carryOutShorten(ctx context.Context, l *pass, a Action) error {
	i := slices.IndexFunc(l.supply.Live, func(x compute.Allocation) bool { return x.ID == a.Allocation })
	if i < 0 || l.Shorten == nil {
		return nil
	}
	if err := l.Shorten(ctx, l.supply.Live[i].SlurmJobID, a.Shape.Walltime); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fixed := maps.Clone(l.memory.fixed) // Review reads the old map
		fixed[a.Allocation] = true
		l.memory.fixed = fixed
		l.Log.Warn("Slurm refused to shorten an allocation", "allocation_id", a.Allocation, "workflow_id", l.id, "error", err)
		return nil
	}
	l.Log.Info("an allocation is shorter now", "allocation_id", a.Allocation, "workflow_id", l.id, "reason", a.Reason)
	shortened := maps.Clone(l.memory.shortened)
	shortened[a.Allocation] = l.now
	l.memory.shortened = shortened
	l.report.Shortened = append(l.report.Shortened, a)
	return l.Store.Allocations.Shorten(ctx, a.Allocation, int64(a.Shape.Walltime/time.Second))
}
