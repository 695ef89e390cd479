package runner

import (
	"time"

	"github.com/torc-slurm/torc-slurm/api"
)

// offer says what the runner can take. Jobs that end soon are taken ahead of
// the room that they will find.
func (r *Runner) offer(now time.Time) api.Free {
	f := api.Free{TimeLeftSeconds: r.schedule.left(now)}
	if r.leaving.active() || !r.turns.outage.since.IsZero() || r.actionsFirst() {
		return f
	}
	waiting := int64(len(r.queue))
	ahead := max(0, r.pace.ahead(r.slots())-waiting)
	if r.opts.MaxParallelJobs > 0 {
		f.Slots = max(0, r.slots()-r.busy-waiting) + ahead
		return f
	}
	room := r.free
	for _, a := range r.queue {
		room = room.minus(needs(&a.grant))
	}
	room = room.atLeastZero()
	f.Slots = room.cpus + ahead
	if room.cpus > 0 {
		f.Nodes = append(f.Nodes, r.node(room, r.busy+waiting > 0))
	}
	// What is taken ahead finds the whole node, several times over, but never
	// more than a node at once: a job must not be larger than it.
	for taken := int64(0); taken < ahead; taken += max(1, r.total.cpus) {
		f.Nodes = append(f.Nodes, r.node(r.total, true))
	}
	return f
}

func (r *Runner) node(room capacity, busy bool) api.FreeNode {
	return api.FreeNode{
		Name: r.opts.Hostname, CPUs: room.cpus, MemoryBytes: room.memory, GPUs: room.gpus, Busy: busy,
	}
}

// slots is how many jobs may run at a time, at most.
func (r *Runner) slots() int64 {
	if r.opts.MaxParallelJobs > 0 {
		return r.opts.MaxParallelJobs
	}
	return r.total.cpus
}

// hungry reports whether room is empty, or about to be, for want of work.
func (r *Runner) hungry() bool {
	return int64(len(r.queue)) < max(1, r.pace.ahead(r.slots())/4)
}
