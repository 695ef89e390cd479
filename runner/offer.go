package runner

import (
	"log/slog"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// offer returns the room for more jobs. If jobs are short, it includes room that will
// be free soon.
func (m *room) offer(now time.Time) lease.Free {
	f := lease.Free{TimeLeftSeconds: m.runner.schedule.left(now)}
	if m.runner.leaving.active() || m.runner.pause.active() || !m.runner.turns.outage.since.IsZero() || m.runner.actions.blockJobs() {
		return f
	}
	waiting := int64(len(m.runner.queue.waiting))
	ahead := max(0, m.runner.pace.ahead(m.slots())-waiting)
	if m.runner.opts.MaxParallelJobs > 0 {
		f.Slots = max(0, m.slots()-m.busy-waiting) + ahead
		return f
	}
	hosts := m.afterQueued()
	f.Slots = ahead
	for i, h := range hosts {
		room := h.free.atLeastZero()
		if room.cpus == 0 {
			continue
		}
		n := m.node(h.name, room, h.busy > 0)
		// Without steps only jobs for several nodes can use them.
		n.Together = i > 0 && m.runner.steps == nil
		if !n.Together {
			f.Slots += room.cpus
		}
		f.Nodes = append(f.Nodes, n)
	}
	// Jobs taken ahead will find the whole node, several times over. It is offered as
	// separate nodes, so that no job is larger than one.
	for taken := int64(0); taken < ahead; taken += max(1, m.total.cpus) {
		f.Nodes = append(f.Nodes, m.node(m.hosts[0].name, m.total, true))
	}
	return f
}

// OfferOf returns what a runner with these options offers on this machine while nothing runs.
func OfferOf(o *Options) placement.Offer {
	environ := o.Environ
	if environ == nil {
		environ = inheritedEnvironment()
	}
	total := o.Resources.orDetected(environ, slog.New(slog.DiscardHandler)).capacity()
	offer := placement.Offer{Slots: max(o.MaxParallelJobs, 1), IgnoreResources: o.MaxParallelJobs > 0, Labels: o.Labels}
	if o.TimeLimit > 0 {
		offer.TimeLeftSeconds = new(int64(o.TimeLimit / time.Second))
	}
	offer.Nodes = []placement.FreeNode{{CPUs: total.cpus, MemoryBytes: total.memory, GPUs: total.gpus}}
	return offer
}

// wholeOffer returns what the runner offers while nothing runs, from its start to its end.
func (m *room) wholeOffer() placement.Offer {
	o := placement.Offer{Slots: 1, IgnoreResources: m.runner.opts.MaxParallelJobs > 0, TimeLeftSeconds: m.runner.schedule.left(m.runner.began)}
	if end := m.runner.schedule.end; !end.IsZero() {
		o.WholeSeconds = int64(end.Sub(m.runner.began).Round(time.Second) / time.Second)
	}
	for _, h := range m.hosts {
		o.Nodes = append(o.Nodes, placement.FreeNode{Name: h.name, CPUs: m.total.cpus, MemoryBytes: m.total.memory, GPUs: m.total.gpus})
	}
	return o
}

func (m *room) node(name string, room capacity, busy bool) placement.FreeNode {
	return placement.FreeNode{Name: name, CPUs: room.cpus, MemoryBytes: room.memory, GPUs: room.gpus, Busy: busy}
}

// slots returns how many jobs may run at a time, at most.
func (m *room) slots() int64 {
	if m.runner.opts.MaxParallelJobs > 0 {
		return m.runner.opts.MaxParallelJobs
	}
	if m.runner.steps == nil {
		return m.total.cpus
	}
	return m.total.cpus * int64(len(m.hosts))
}

// wantsWork reports whether CPUs are idle, or will be soon, for lack of jobs.
func (q *queue) wantsWork() bool {
	return int64(len(q.waiting)) < max(1, q.runner.pace.ahead(q.runner.room.slots())/4)
}
