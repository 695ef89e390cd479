package main

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/bench/queue/work"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// How often facts are read, in seconds, as the product does (scheduler/foresight.go,
// scheduler/clusterfacts).
const (
	factsEvery        = 5 * 60 // where all jobs have a place
	loadsEvery        = 30     // sinfo
	reservationsEvery = 10 * 60
	runtimesEvery     = 30
	mostRuntimes      = 200
	probesPerPlan     = 3
	probesLast        = 5 * 60
)

// facts are what the product would know of the simulated cluster and of finished jobs.
type facts struct {
	t            *trial
	cluster      *forecast.Cluster
	asked        int64
	reservations int64 // when they were asked for; there are none
	runtimes     []forecast.Runtimes
	runtimesAt   int64
	past         []forecast.Past
	probes       []forecast.Probe
	expected     map[int64]*compute.AllocationExpectation // of allocations, by id
	started      map[int64]bool                           // allocations whose waits are known
}

func newFacts(t *trial) *facts {
	f := &facts{t: t, asked: -day, reservations: -day, runtimesAt: -day, expected: make(map[int64]*compute.AllocationExpectation), started: make(map[int64]bool)}
	p := t.cluster.Partition(0)
	for _, j := range t.past {
		f.past = append(f.past, pastOf(j, &p))
	}
	return f
}

// pastOf returns a job of somebody else as if it had been ours: what we would remember of
// earlier workflows.
func pastOf(j *cluster.Job, p *cluster.Partition) forecast.Past {
	return forecast.Past{
		Partition: p.Name, Nodes: j.Nodes, CPUs: j.CPUs(p), GPUs: j.Nodes * j.Each.GPUs, Walltime: time.Duration(j.Limit) * time.Second,
		Asked: at(j.Submit), Waited: time.Duration(j.Start-j.Submit) * time.Second, Free: j.Free,
	}
}

// add adds to a snapshot what is known. plain is the plan without it.
func (f *facts) add(s *scheduler.Snapshot, plain *scheduler.Decision) {
	now := f.t.cluster.Now()
	ready := slices.ContainsFunc(plain.Coverage, func(c scheduler.Coverage) bool { return c.Ready > 0 })
	asks := slices.ContainsFunc(plain.Actions, func(a scheduler.Action) bool { return a.Kind == scheduler.Submit || a.Kind == scheduler.Probe })
	if asks || ready && now-f.asked >= factsEvery {
		f.ask(now)
	}
	if f.cluster != nil && s.Now.Sub(f.cluster.At) > 2*factsEvery*time.Second {
		f.cluster = nil
	}
	if f.cluster == nil {
		return
	}
	f.noteStarted()
	s.Forecast = &forecast.Forecast{Cluster: f.cluster, Past: f.past, Probes: f.probes}
	if now-f.runtimesAt >= runtimesEvery {
		f.runtimesAt, f.runtimes = now, nil
		for class := range f.t.progress.Classes {
			f.runtimes = append(f.runtimes, forecast.RuntimesOf(f.t.progress.Runtimes(class, mostRuntimes)))
		}
	}
	for i := range s.Demand {
		d := &s.Demand[i]
		declared := time.Duration(d.RuntimeSeconds) * time.Second
		d.LikelySeconds = int64(f.runtimes[d.ID-1].Likely(declared) / time.Second)
	}
	for _, a := range f.t.progress.Ahead() {
		class := f.t.progress.Classes[a.Class]
		declared := time.Duration(class.RuntimeSeconds) * time.Second
		s.Ahead = append(s.Ahead, scheduler.Ahead{Class: class, LikelySeconds: int64(f.runtimes[a.Class].Likely(declared) / time.Second), Steps: a.Steps, Count: a.Count})
	}
	for i := range s.Allocations {
		for k := range s.Allocations[i].Running {
			r := &s.Allocations[i].Running[k]
			r.Until = r.Until.Add(f.runtimes[r.ClassID-1].Likely(r.Declared) - r.Declared)
		}
	}
}

// resolve asks about allocations of which nothing is known, and reports whether there are answers.
func (f *facts) resolve(s *scheduler.Snapshot, doubts []scheduler.Doubt) bool {
	now := f.t.cluster.Now()
	f.probes = slices.DeleteFunc(slices.Clone(f.probes), func(p forecast.Probe) bool { return at(now).Sub(p.At) >= probesLast*time.Second })
	known := len(f.probes)
	for i := range doubts[:min(len(doubts), probesPerPlan)] {
		r := &doubts[i].Request
		f.t.calls.TestOnly++
		start, ok := f.t.cluster.Estimate(cluster.Request{
			Partitions: []int{0}, Nodes: r.Nodes, Limit: int64(r.Walltime / time.Second),
			Each: cluster.Resources{CPUs: r.Node.CPUs, MemoryMB: r.Node.MemoryBytes >> 20, GPUs: r.Node.GPUs},
		})
		if ok {
			f.probes = append(f.probes, forecast.Probe{Request: *r, At: at(now), Start: at(start)})
		}
	}
	s.Forecast.Probes = f.probes
	return len(f.probes) > known
}

// ask reads what the cluster is like, unless that was read just now.
func (f *facts) ask(now int64) {
	f.asked = now
	if f.cluster != nil && at(now).Sub(f.cluster.At) < loadsEvery*time.Second {
		return
	}
	f.t.calls.Sinfo++
	if now-f.reservations >= reservationsEvery {
		f.reservations = now
		f.t.calls.Scontrol++
	}
	f.cluster = clusterOf(f.t.cluster)
}

// noteStarted remembers how long allocations were pending that have started.
func (f *facts) noteStarted() {
	for _, list := range [][]*work.Allocation{f.t.fleet.Allocations, f.t.fleet.Ended} {
		for _, a := range list {
			if a.Slurm.State != cluster.Pending && len(a.Slurm.Placed) > 0 && !f.started[a.ID] {
				f.remember(a, a.Slurm.Start, false)
			}
		}
	}
}

// remember remembers how long an allocation was pending until it started, or was canceled.
func (f *facts) remember(a *work.Allocation, until int64, canceled bool) {
	f.started[a.ID] = true
	p := f.t.cluster.Partition(0)
	f.past = append(f.past, forecast.Past{
		Partition: p.Name, Nodes: a.Nodes, CPUs: a.Nodes * a.Node.CPUs, GPUs: a.Nodes * a.Node.GPUs, Walltime: time.Duration(a.Walltime) * time.Second,
		Asked: at(a.Asked), Waited: time.Duration(until-a.Asked) * time.Second, NotStarted: canceled,
		Free: f.expected[a.ID] != nil && f.expected[a.ID].Free,
	})
}

// clusterOf returns what sinfo says of a cluster.
func clusterOf(c *cluster.Cluster) *forecast.Cluster {
	p := c.Partition(0)
	out := &forecast.Cluster{At: at(c.Now()), Nodes: make([]forecast.Node, p.Count)}
	partitions := []string{p.Name}
	planned := plannedNodes(c, &p)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.Name, n.Partitions, n.Usable = nodeName(i), partitions, true
		n.Whole, n.Free = freeNode(p.Node), freeNode(c.Free(0, i))
		if planned > 0 && n.Idle() {
			n.Planned = true
			planned--
		}
	}
	return out
}

func freeNode(r cluster.Resources) placement.FreeNode {
	return placement.FreeNode{CPUs: r.CPUs, MemoryBytes: r.MemoryMB << 20, GPUs: r.GPUs}
}

// plannedNodes returns how many idle nodes are kept for jobs of the queue (state PLANNED):
// those of the jobs for which the backfill scheduler makes reservations.
func plannedNodes(c *cluster.Cluster, p *cluster.Partition) (n int64) {
	if !p.Whole {
		return 0
	}
	for _, j := range c.Queue(0) {
		if j.Expected > c.Now() {
			n += j.Nodes
		}
	}
	return n
}
