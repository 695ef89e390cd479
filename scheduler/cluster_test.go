package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// A cluster and a workflow as simple as can be, to see plans carried out: time
// goes in ticks, allocations start in the order in which they were requested,
// their runners take what fits and leave when they idle.

const (
	tick        = 20 * time.Second
	idleTimeout = 5 * time.Minute
)

type simJob struct {
	id, behind int // behind: it waits for this job; -1: for none
	class      placement.Class
	actual     time.Duration // how long it runs
	fails      bool          // the first time
	state      workflow.JobStatus
	readySince time.Time // or when it becomes ready, after a delay
	end        time.Time
	avoid      []string
}

type simAllocation struct {
	Allocation
	started   time.Time
	idleSince time.Time
	jobs      []*simJob
	worked    bool
}

type simCluster struct {
	t           *rapid.T
	now         time.Time
	free        []string // nodes
	queue       time.Duration
	margins     placement.Margins
	snapshot    Snapshot // pools and actions
	jobs        []*simJob
	allocations []*simAllocation
	attempts    int
	asked       int // allocations
	canceled    int // of these, while they were pending
	vain        int // of these, that did no work
	most        int // of these, at one time
}

func drawCluster(t *rapid.T) *simCluster {
	c := &simCluster{t: t, now: noon, queue: time.Duration(rapid.IntRange(0, 30).Draw(t, "queue")) * time.Minute, margins: Settings{}.withDefaults().Margins}
	p := Pool{Name: "debug", ActionID: 1, Node: Resources{CPUs: 8, MemoryBytes: 16 * gib}, Shared: rapid.Bool().Draw(t, "shared"), MaxWalltime: rapid.SampledFrom([]time.Duration{0, 4 * time.Hour}).Draw(t, "max")}
	for i := range 6 {
		p.Hosts = append(p.Hosts, fmt.Sprintf("n%d", i+1))
	}
	if rapid.Bool().Draw(t, "fixed") {
		p.Walltime = rapid.SampledFrom([]time.Duration{10 * time.Minute, time.Hour, 3 * time.Hour}).Draw(t, "walltime")
	}
	c.free = slices.Clone(p.Hosts)
	c.snapshot = Snapshot{Pools: []Pool{p}, Actions: []AutoSchedule{{ActionID: 1, MaxAllocations: rapid.IntRange(1, 8).Draw(t, "max allocations"), MinReadyJobs: rapid.SampledFrom([]int64{1, 5}).Draw(t, "min ready")}}}
	for id := range rapid.IntRange(1, 4).Draw(t, "classes") {
		class := placement.Class{
			ID: int64(id + 1), CPUs: rapid.Int64Range(1, 8).Draw(t, "cpus"), MemoryBytes: rapid.Int64Range(0, 16).Draw(t, "gib") * gib,
			Nodes: rapid.SampledFrom([]int64{1, 1, 1, 2}).Draw(t, "nodes"), RuntimeSeconds: rapid.SampledFrom([]int64{10, 60, 600, 3600, 5400}).Draw(t, "runtime"),
		}
		for range rapid.IntRange(1, 40).Draw(t, "jobs") {
			n := len(c.jobs)
			j := &simJob{id: n, behind: rapid.IntRange(-n-1, n-1).Draw(t, "behind"), class: class, readySince: noon, fails: rapid.IntRange(0, 9).Draw(t, "fails") == 0, state: workflow.Ready}
			j.actual = time.Duration(rapid.Int64Range(class.RuntimeSeconds/3, class.RuntimeSeconds*11/10).Draw(t, "actual")) * time.Second
			if j.behind >= 0 {
				j.state = workflow.Blocked
			}
			c.jobs = append(c.jobs, j)
		}
	}
	return c
}

// TestEveryWorkloadEnds carries out plans until all jobs are done.
func TestEveryWorkloadEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		for !c.done() {
			if c.now = c.now.Add(tick); c.now.Sub(noon) > 30*24*time.Hour {
				t.Fatalf("not done after %s: %+v", c.now.Sub(noon), Plan(c.look()))
			}
			c.jobsEnd()
			c.allocationsStart()
			ready := c.ready()
			for _, a := range c.allocations {
				c.claim(a, ready)
			}
			c.allocationsEnd()
			c.carryOut(Plan(c.look()))
		}
		if limit := c.snapshot.Actions[0].MaxAllocations; c.most > limit {
			t.Errorf("%d allocations at a time, allowed are %d", c.most, limit)
		}
		// One allocation of a shape may be too many: a job that was to fill it has
		// failed, and comes back later.
		if c.asked-c.canceled > c.attempts+1 || c.vain > 1+c.asked/5 {
			t.Errorf("%d allocations and %d canceled for %d attempts, %d did no work", c.asked, c.canceled, c.attempts, c.vain)
		}
		if left := deeds(Plan(c.look())); slices.ContainsFunc(left, func(a Action) bool { return a.Kind != Cancel }) {
			t.Errorf("asks for more when all is done: %+v", left)
		}
	})
}

func (c *simCluster) done() bool {
	return !slices.ContainsFunc(c.jobs, func(j *simJob) bool { return j.state != workflow.Completed })
}

func (c *simCluster) jobsEnd() {
	for _, a := range c.allocations {
		a.jobs = slices.DeleteFunc(a.jobs, func(j *simJob) bool {
			if j.end.After(c.now) {
				return false
			}
			j.state = workflow.Completed
			if j.fails {
				j.fails, j.state, j.readySince, j.avoid = false, workflow.Ready, c.now.Add(2*time.Minute), a.Hosts[:1]
			}
			return true
		})
	}
	for _, j := range c.jobs {
		if j.state == workflow.Blocked && c.jobs[j.behind].state == workflow.Completed {
			j.state, j.readySince = workflow.Ready, c.now
		}
	}
}

func (c *simCluster) allocationsStart() {
	for _, a := range c.allocations {
		usable := slices.DeleteFunc(slices.Clone(c.free), func(h string) bool { return slices.Contains(a.Shape.Exclude, h) })
		if a.State != Pending || a.Asked.Add(c.queue).After(c.now) || int64(len(usable)) < a.Shape.Nodes {
			continue
		}
		a.Hosts = usable[:a.Shape.Nodes]
		c.free = slices.DeleteFunc(c.free, func(h string) bool { return slices.Contains(a.Hosts, h) })
		a.State, a.started, a.idleSince, a.End = Active, c.now, c.now, c.now.Add(a.Shape.Walltime)
	}
}

// ready returns the jobs that may be claimed, in the order in which they are.
func (c *simCluster) ready() (ready []*simJob) {
	for _, j := range c.jobs {
		if j.state == workflow.Ready && !j.readySince.After(c.now) {
			ready = append(ready, j)
		}
	}
	slices.SortStableFunc(ready, func(a, b *simJob) int { return placement.CompareClasses(a.class, b.class) })
	return ready
}

// claim lets the runners of an allocation take what fits.
func (c *simCluster) claim(a *simAllocation, ready []*simJob) {
	if len(a.jobs) > 0 {
		a.idleSince = c.now
	}
	if a.State != Active || c.now.Sub(a.started) < tick || len(ready) == 0 {
		return
	}
	o := offerOf(a.Shape, a.Shape.Walltime-a.End.Sub(c.now))
	packer := placement.NewPacker(o)
	for _, j := range a.jobs {
		unbound := j.class
		unbound.RuntimeSeconds = 0
		packer.Take(unbound)
	}
	for _, j := range ready {
		avoids := slices.ContainsFunc(a.Hosts, func(h string) bool { return slices.Contains(j.avoid, h) })
		if j.state != workflow.Ready || avoids || j.class.Nodes == 1 && a.Shape.Together {
			continue
		}
		if _, ok := packer.Take(j.class); ok {
			j.state, j.end, a.worked = workflow.Running, c.now.Add(j.actual), true
			c.attempts++
			a.jobs, a.idleSince = append(a.jobs, j), c.now
		}
	}
}

func (c *simCluster) allocationsEnd() {
	c.allocations = slices.DeleteFunc(c.allocations, func(a *simAllocation) bool {
		if a.State != Active || a.End.After(c.now) && c.now.Sub(a.idleSince) < idleTimeout {
			return false
		}
		for _, j := range a.jobs { // killed; the next attempt is given more time
			j.state, j.readySince = workflow.Ready, c.now
			j.class.RuntimeSeconds = j.class.RuntimeSeconds * 3 / 2
			j.class.ID += 100
		}
		if !a.worked {
			c.vain++
		}
		c.free = append(c.free, a.Hosts...)
		return true
	})
}

// look is what a daemon would know.
func (c *simCluster) look() Snapshot {
	s := c.snapshot
	s.Now, s.Ended = c.now, c.done()
	type key struct{ class, seconds, avoids int64 }
	demand := make(map[key]*Demand)
	for _, j := range c.jobs {
		key := key{j.class.ID, j.class.RuntimeSeconds, int64(len(j.avoid))}
		if len(j.avoid) > 0 {
			key.avoids = int64(j.avoid[0][1])
		}
		d := demand[key]
		if d == nil {
			d = &Demand{Class: j.class, Avoid: j.avoid, Pools: []string{"debug"}, Since: c.now}
			demand[key] = d
		}
		switch {
		case j.state == workflow.Ready && j.readySince.After(c.now.Add(time.Minute)):
			d.Later, d.Next = d.Later+1, j.readySince
		case j.state == workflow.Ready:
			d.Ready++
			if j.readySince.Before(d.Since) {
				d.Since = j.readySince
			}
		case j.state == workflow.Blocked && c.jobs[j.behind].state == workflow.Running:
			d.Later++
		}
		s.Working = s.Working || j.state == workflow.Running
	}
	for _, d := range demand {
		s.Demand = append(s.Demand, *d)
	}
	for _, a := range c.allocations {
		known := a.Allocation
		for _, j := range a.jobs {
			declared := j.end.Add(time.Duration(j.class.RuntimeSeconds)*time.Second - j.actual)
			known.Running = append(known.Running, Running{Each: Resources{CPUs: j.class.CPUs, MemoryBytes: j.class.MemoryBytes}, Nodes: j.class.Nodes, Count: 1, Until: declared})
		}
		s.Allocations = append(s.Allocations, known)
	}
	return s
}

func (c *simCluster) carryOut(d Decision) {
	for _, a := range d.Actions {
		switch a.Kind {
		case Cancel:
			c.canceled++
			c.allocations = slices.DeleteFunc(c.allocations, func(o *simAllocation) bool { return o.ID == a.Allocation })
		case Submit:
			for range a.Count {
				c.asked++
				c.allocations = append(c.allocations, &simAllocation{Allocation: Allocation{ID: int64(c.asked), ActionID: a.ActionID, Shape: a.Shape, Asked: c.now}})
				c.snapshot.Actions[0].Submitted = append(c.snapshot.Actions[0].Submitted, c.now)
			}
		case Probe, Pause:
			c.t.Fatalf("nothing failed, but: %+v", a)
		}
	}
	c.most = max(c.most, len(c.allocations))
	slices.SortFunc(c.allocations, func(a, b *simAllocation) int { return cmp.Compare(a.ID, b.ID) })
}
