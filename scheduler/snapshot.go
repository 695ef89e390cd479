package scheduler

import (
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// DemandOf returns the demand for the named pools from the counts of the store.
// Since is when the first of its ready jobs was seen without a place.
func DemandOf(c store.ClassDemand, pools []string, since time.Time) Demand {
	d := Demand{Class: c.Class, Avoid: c.AvoidNodes, Pools: pools, Ready: c.Ready, Later: c.Delayed + c.Behind, Awaited: min(c.Awaited, c.Ready), Since: since}
	if c.NextMS != 0 {
		d.Next = time.UnixMilli(c.NextMS)
	}
	return d
}

// AllocationOf returns a stored allocation that has not ended in the form for the
// plan; load is nil as long as it had no runner. Silent means that its runners have been
// silent for too long.
func AllocationOf(a *compute.Allocation, load *store.AllocationLoad, silent bool) Allocation {
	q := &a.Request
	out := Allocation{
		ID: a.ID, ActionID: q.ActionID, State: stateOf(a, silent), Asked: time.UnixMilli(a.AskedMS), Requeued: a.RestartCount > 0,
		Reason: a.SlurmReason, Place: placeOf(q), Widened: strings.Contains(q.Partition, ","),
		Shape: Shape{
			Pool: q.Pool, SchedulerID: a.SchedulerConfigID, Nodes: max(q.Nodes, 1),
			Node:     Resources{CPUs: q.Offer.CPUs, MemoryBytes: q.Offer.MemoryBytes, GPUs: q.Offer.GPUs, Slots: q.MaxParallelJobs},
			Walltime: time.Duration(q.WalltimeS) * time.Second, Labels: q.Labels, Exclude: q.Exclude,
			Together: q.Nodes > 1 && !q.OneRunnerPerNode,
		},
	}
	if e := q.Expected; e != nil && len(out.Place.Partitions) == 0 && e.Partition != "" {
		out.Place.Partitions = []string{e.Partition}
	}
	if out.State != Active {
		return out
	}
	if a.StartMS != 0 {
		out.Started = time.UnixMilli(a.StartMS)
	}
	if a.LimitMS != 0 {
		out.End = time.UnixMilli(a.LimitMS)
	}
	if load != nil {
		out.observe(load)
	}
	return out
}

func stateOf(a *compute.Allocation, silent bool) State {
	switch state := slurm.State(a.SlurmState); {
	case a.IsDuplicate, silent, a.CancelMS != 0, a.OverMS != 0, a.SupersededMS != 0, state == slurm.Suspended, state == slurm.Stopped:
		return Closed
	case a.State == compute.AllocationActive:
		return Active
	}
	return Pending
}

// observe stores the actual resources of the nodes, by the smallest of them, and the
// running jobs. Nodes whose runners have not registered yet count; nodes whose runners
// have left do not.
func (a *Allocation) observe(load *store.AllocationLoad) {
	nodes := int64(0)
	for i, r := range load.Runners {
		node := Resources{CPUs: r.CPUs, MemoryBytes: r.MemoryBytes, GPUs: r.GPUs, Slots: a.Shape.Node.Slots}
		if i > 0 {
			node = node.least(a.Shape.Node)
		}
		a.Shape.Node, a.Shape.Labels = node, r.Labels
		a.Hosts = append(a.Hosts, r.Host)
		nodes += r.Nodes
	}
	a.Shape.Nodes = max(nodes, a.Shape.Nodes-load.Left)
	for _, j := range load.Jobs {
		c := &j.Class
		a.Running = append(a.Running, Running{
			Each: Resources{CPUs: c.CPUs, MemoryBytes: c.MemoryBytes, GPUs: c.GPUs}, Nodes: c.Nodes, Count: j.Count, Until: j.Until,
			ClassID: c.ID, Declared: time.Duration(c.RuntimeSeconds) * time.Second,
		})
	}
}
