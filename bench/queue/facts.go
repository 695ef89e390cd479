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

// What the product has in scheduler/clusterfacts.
const (
	reservationsEvery = 10 * 60 // seconds
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
	ahead        []scheduler.Ahead
	runtimes     map[int64]forecast.Runtimes // by class
	jobsAt       int64                       // when ahead and runtimes were read
	past         []forecast.Past
	probes       []forecast.Probe
	expected     map[int64]*compute.AllocationExpectation // of allocations, by id
	started      map[int64]bool                           // allocations whose waits are known
}

func newFacts(t *trial) *facts {
	f := &facts{t: t, asked: -day, reservations: -day, jobsAt: -day, expected: make(map[int64]*compute.AllocationExpectation), started: make(map[int64]bool)}
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
	if plain.FactsDue(f.age()) {
		f.ask(now)
	}
	if f.cluster != nil && s.Now.Sub(f.cluster.At) > scheduler.FactsLast {
		f.cluster = nil
	}
	if f.cluster == nil {
		return
	}
	f.noteStarted()
	s.Forecast = &forecast.Forecast{Cluster: f.cluster, Past: f.past, Probes: f.probes}
	if at(now).Sub(at(f.jobsAt)) >= scheduler.JobsEvery {
		f.readJobs(now)
	}
	s.Foresee(f.ahead, f.runtimes)
}

// age returns for how long the cluster has not been asked for.
func (f *facts) age() time.Duration { return time.Duration(f.t.cluster.Now()-f.asked) * time.Second }

// readJobs reads what is known of the jobs.
func (f *facts) readJobs(now int64) {
	f.jobsAt, f.ahead, f.runtimes = now, nil, make(map[int64]forecast.Runtimes)
	for i, c := range f.t.progress.Classes {
		f.runtimes[c.ID] = forecast.RuntimesOf(f.t.progress.Runtimes(i, mostRuntimes))
	}
	for _, a := range f.t.progress.Ahead() {
		f.ahead = append(f.ahead, scheduler.Ahead{Class: f.t.progress.Classes[a.Class], Steps: a.Steps, Count: a.Count})
	}
}

// renew reads the facts of the cluster again before a plan is carried out, and reports whether it did.
func (f *facts) renew(s *scheduler.Snapshot, d *scheduler.Decision) bool {
	if !d.FactsOld(f.age()) {
		return false
	}
	f.ask(f.t.cluster.Now())
	s.Forecast.Cluster = f.cluster
	return true
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

// ask reads what the cluster is like.
func (f *facts) ask(now int64) {
	f.asked = now
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
