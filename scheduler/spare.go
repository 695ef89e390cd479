package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Spare is another partition that may start pending allocations of a pool.
type Spare struct {
	Partition   string
	Node        Resources     // what a node has at most for jobs
	MaxNodes    int64         // 0: no limit
	MaxWalltime time.Duration // 0: no limit
}

// takes reports whether an allocation fits there as it was requested.
func (s *Spare) takes(a *Shape) bool {
	node := a.Node
	node.Slots = s.Node.Slots
	return node.least(s.Node) == node && (s.MaxNodes == 0 || a.Nodes <= s.MaxNodes) && (s.MaxWalltime == 0 || a.Walltime <= s.MaxWalltime)
}

// widen lets allocations that have been pending for long also start in another
// partition. This costs nothing: they keep their place, and no other is
// requested.
func (p *planner) widen() {
	for _, a := range p.supply {
		pool := p.pools[a.Shape.Pool]
		if pool == nil || a.ActionID == 0 || a.State != Pending || a.Widened || !a.queued() || p.Now.Before(a.Asked.Add(p.set.WidenAfter)) {
			continue
		}
		i := slices.IndexFunc(pool.Spares, func(s Spare) bool { return s.takes(&a.Shape) })
		if i < 0 {
			continue
		}
		p.act(Action{Kind: Widen, ActionID: a.ActionID, Pool: pool.Name, Allocation: a.ID, Partition: pool.Spares[i].Partition,
			Reason: fmt.Sprintf("pending since %s (%s): it may also start in partition %s", a.Asked.Format("15:04:05"), a.Reason, pool.Spares[i].Partition)})
	}
}

// queued reports whether an allocation only waits for its turn.
func (a *Allocation) queued() bool { return a.Reason == "Resources" || a.Reason == "Priority" }

// addSpare adds a target that may start pending allocations of this one.
func (t *target) addSpare(other *target) {
	same := t.base.Account == other.base.Account && t.base.QOS == other.base.QOS
	known := func(s Spare) bool { return s.Partition == other.partition.Name }
	if same && !slices.ContainsFunc(t.Spares, known) {
		t.Spares = append(t.Spares, Spare{other.partition.Name, other.Node, other.MaxNodes, other.MaxWalltime})
	}
}

// widen lets Slurm also start an allocation in another partition. If Slurm refuses, this
// is not repeated.
func (l *pass) widen(ctx context.Context, a Action) error {
	i := slices.IndexFunc(l.supply.Live, func(x compute.Allocation) bool { return x.ID == a.Allocation })
	if i < 0 || l.Widen == nil {
		return nil
	}
	names := []string{l.pools.targets[a.Pool].partition.Name, a.Partition}
	if err := l.Widen(ctx, l.supply.Live[i].SlurmJobID, names); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		narrow := maps.Clone(l.memory.narrow) // Review reads the old map
		narrow[a.Allocation] = true
		l.memory.narrow = narrow
		l.Log.Warn("Slurm refused to let an allocation start in another partition", "allocation_id", a.Allocation, "workflow_id", l.id, "partition", a.Partition, "error", err)
		return nil
	}
	l.Log.Info("an allocation may also start in another partition", "allocation_id", a.Allocation, "workflow_id", l.id, "reason", a.Reason)
	l.report.Widened = append(l.report.Widened, a)
	return l.Store.Allocations.Widen(ctx, a.Allocation, names[0]+","+names[1])
}
