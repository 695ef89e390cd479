package runner

import (
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// offer says what the runner can take. Jobs that end soon are taken ahead of
// the room that they will find.
func (r *Runner) offer(now time.Time) api.Free {
	f := api.Free{TimeLeftSeconds: r.schedule.left(now)}
	if r.leaving.active() || r.pause.active() || !r.turns.outage.since.IsZero() || r.actionsFirst() {
		return f
	}
	waiting := int64(len(r.queue))
	ahead := max(0, r.pace.ahead(r.slots())-waiting)
	if r.opts.MaxParallelJobs > 0 {
		f.Slots = max(0, r.slots()-r.busy-waiting) + ahead
		return f
	}
	hosts := r.prospect()
	f.Slots = ahead
	for i, h := range hosts {
		room := h.free.atLeastZero()
		if room.cpus == 0 {
			continue
		}
		n := r.node(h.name, room, h.busy > 0)
		// Without steps no job but one for several nodes can use them.
		n.Together = i > 0 && r.steps == nil
		if !n.Together {
			f.Slots += room.cpus
		}
		f.Nodes = append(f.Nodes, n)
	}
	// What is taken ahead finds the whole node, several times over, but never
	// more than a node at once: a job must not be larger than it.
	for taken := int64(0); taken < ahead; taken += max(1, r.total.cpus) {
		f.Nodes = append(f.Nodes, r.node(r.hosts[0].name, r.total, true))
	}
	return f
}

// wholeOffer is what the runner has when nothing runs, from its start to its end.
func (r *Runner) wholeOffer() workflow.Offer {
	o := workflow.Offer{Slots: 1, IgnoreResources: r.opts.MaxParallelJobs > 0, TimeLeftSeconds: r.schedule.left(r.began)}
	if end := r.schedule.end; !end.IsZero() {
		o.WholeSeconds = int64(end.Sub(r.began).Round(time.Second) / time.Second)
	}
	for _, h := range r.hosts {
		o.Nodes = append(o.Nodes, workflow.OfferNode{Name: h.name, CPUs: r.total.cpus, MemoryBytes: r.total.memory, GPUs: r.total.gpus})
	}
	return o
}

func (r *Runner) node(name string, room capacity, busy bool) api.FreeNode {
	return api.FreeNode{Name: name, CPUs: room.cpus, MemoryBytes: room.memory, GPUs: room.gpus, Busy: busy}
}

// slots is how many jobs may run at a time, at most.
func (r *Runner) slots() int64 {
	if r.opts.MaxParallelJobs > 0 {
		return r.opts.MaxParallelJobs
	}
	if r.steps == nil {
		return r.total.cpus
	}
	return r.total.cpus * int64(len(r.hosts))
}

// hungry reports whether room is empty, or about to be, for want of work.
func (r *Runner) hungry() bool {
	return int64(len(r.queue)) < max(1, r.pace.ahead(r.slots())/4)
}
