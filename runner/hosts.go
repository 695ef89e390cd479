package runner

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// room is the capacity for jobs, and how much of it is in use.
type room struct {
	runner *Runner
	total  capacity // of each host
	hosts  []*host  // the runner's own first
	gpus   *gpuPool
	busy   int64 // attempts that hold capacity
}

// host is a node that jobs can be placed on.
type host struct {
	name string
	free capacity
	busy int64 // attempts on it
}

// newHosts returns the hosts of a runner, its own first.
func newHosts(o *Options) []*host {
	names := o.Nodes
	if len(names) == 0 {
		names = []string{o.Hostname}
	}
	hosts := make([]*host, len(names))
	for i, name := range names {
		hosts[i] = &host{name: name, free: o.Resources.capacity()}
	}
	return hosts
}

// placeFor returns the hosts for a granted job, nil if there is no room now. Without
// steps every process starts on the runner's own host. Jobs for one node then run
// only there; the other hosts serve jobs for several nodes.
func (m *room) placeFor(g *lease.Grant, hosts []*host) []*host {
	if m.runner.opts.MaxParallelJobs > 0 {
		return hosts[:1]
	}
	need := needs(g)
	if g.Nodes > 1 {
		return wholeHosts(hosts, g.Nodes, need)
	}
	if m.runner.steps == nil {
		hosts = hosts[:1]
	}
	if i := slices.IndexFunc(hosts, func(h *host) bool { return h.name == g.Node && h.free.holds(need) }); i >= 0 {
		return hosts[i : i+1]
	}
	if i := slices.IndexFunc(hosts, func(h *host) bool { return h.free.holds(need) }); i >= 0 {
		return hosts[i : i+1]
	}
	return nil
}

// wholeHosts returns n idle hosts, nil if there are not enough. The runner's own
// comes first if it is idle, since processes start there if they are not steps.
func wholeHosts(hosts []*host, n int64, need capacity) []*host {
	var idle []*host
	for _, h := range hosts {
		if h.busy == 0 && h.free.holds(need) {
			idle = append(idle, h)
		}
		if int64(len(idle)) == n {
			return idle
		}
	}
	return nil
}

// takes returns what an attempt takes of each of its hosts.
func (m *room) takes(g *lease.Grant) capacity {
	if g.Nodes > 1 {
		return m.total // whole nodes
	}
	return needs(g)
}

// reserve takes room on hosts.
func (m *room) reserve(a *attempt, hosts []*host) {
	a.hosts = hosts
	for _, h := range hosts {
		h.free = h.free.minus(m.takes(&a.grant))
		h.busy++
	}
}

// vacate undoes reserve.
func (m *room) vacate(a *attempt) {
	for _, h := range a.hosts {
		h.free = h.free.plus(m.takes(&a.grant))
		h.busy--
	}
	a.hosts = nil
}

// afterQueued returns the hosts as they will be when all granted jobs have started.
func (m *room) afterQueued() []*host {
	hosts := make([]*host, len(m.hosts))
	for i, h := range m.hosts {
		later := *h
		hosts[i] = &later
	}
	for _, a := range m.runner.queue.waiting {
		on := m.placeFor(&a.grant, hosts)
		if on == nil {
			on = hosts[:1] // it waits for room there
		}
		for _, h := range on {
			h.free = h.free.minus(m.takes(&a.grant))
			h.busy++
		}
	}
	return hosts
}
