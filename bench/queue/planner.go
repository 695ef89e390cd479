package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/bench/queue/work"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

const (
	planGap   = 5  // seconds between two plans at least
	planEvery = 60 // and at most
	// runnerMemory is what the product keeps of a node for itself.
	runnerMemory = 128 << 20
	theAction    = 1
)

// epoch is the beginning of a simulation: a Monday.
var epoch = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func at(seconds int64) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

func secondsOf(t time.Time) int64 { return int64(t.Sub(epoch) / time.Second) }

// planner requests what scheduler.Plan says.
type planner struct {
	forecast bool // the plan knows what the cluster is like
}

func (p planner) begin(t *trial) {
	r := &planning{t: t, next: -1, last: t.cluster.Now() - planGap, shapes: make(map[int64]scheduler.Shape), shortened: make(map[int64]time.Time)}
	if p.forecast {
		r.facts, t.expects = newFacts(t), true
	}
	t.poll()
	t.fleet.Changed = func() { r.due(t.cluster.Now()) }
	r.due(t.cluster.Now())
}

// planning is the state of a planner.
type planning struct {
	t         *trial
	facts     *facts // nil: plans are made without a forecast
	last      int64  // when the last plan was made
	next      int64  // when the next is to be made; -1: none is scheduled
	submitted []time.Time
	canceled  []time.Time
	shortened map[int64]time.Time       // allocations, when last
	shapes    map[int64]scheduler.Shape // of allocations, as they were planned
}

// due has a plan made at a time, or a little later.
func (r *planning) due(when int64) {
	when = max(when, r.last+planGap)
	if r.next >= 0 && r.next <= when {
		return
	}
	r.next = when
	r.t.cluster.At(when, func() {
		if r.next == when {
			r.plan()
		}
	})
}

// plan makes a plan and carries it out.
func (r *planning) plan() {
	now := r.t.cluster.Now()
	r.last, r.next = now, -1
	if r.t.progress.Done() {
		return
	}
	r.due(now + planEvery)
	canceled := false
	for _, a := range r.decide().Actions {
		if r.t.trace != nil {
			r.t.trace("%6d  %s %s", now-r.t.progress.Begin, a.Kind, a.Reason)
		}
		switch a.Kind {
		case scheduler.Submit, scheduler.Probe:
			for range a.Count {
				r.submit(&a)
			}
		case scheduler.Cancel:
			for _, x := range r.t.fleet.Allocations {
				if x.ID == a.Allocation {
					if r.facts != nil {
						r.facts.remember(x, now, true)
					}
					r.t.cluster.Cancel(x.Slurm)
					r.canceled = append(r.canceled, at(now))
					canceled = true
					break
				}
			}
		case scheduler.Shorten:
			for _, x := range r.t.fleet.Allocations {
				if x.ID == a.Allocation {
					x.Shorten(int64(a.Shape.Walltime / time.Second))
					r.shapes[x.ID], r.shortened[x.ID] = a.Shape, at(now)
					r.t.calls.Scontrol++
				}
			}
		case scheduler.Wait, scheduler.Pause:
			if !a.Until.IsZero() {
				r.due(secondsOf(a.Until))
			}
		default: // the pool has no other partition
			panic(fmt.Sprintf("unexpected action %s", a.Kind))
		}
	}
	if canceled {
		r.t.calls.Scancel++
	}
}

// decide makes a plan.
func (r *planning) decide() scheduler.Decision {
	s := r.snapshot()
	d := scheduler.Plan(s)
	if r.facts == nil {
		return d
	}
	if r.facts.add(&s, &d); s.Forecast != nil {
		if d = scheduler.Plan(s); r.facts.renew(&s, &d) {
			d = scheduler.Plan(s)
		}
		if r.facts.resolve(&s, d.Doubts) {
			d = scheduler.Plan(s)
		}
	}
	if r.t.trace != nil {
		for _, c := range d.Choices {
			r.t.trace("        %s", c.Line())
		}
	}
	return d
}

// submit requests an allocation as the product does: with as much memory as goes with its
// CPUs, at least.
func (r *planning) submit(action *scheduler.Action) {
	s := action.Shape
	p := r.t.cluster.Partition(0)
	node := s.Node
	if p.Whole {
		node.MemoryBytes = p.Node.MemoryMB<<20 - runnerMemory
	} else {
		node.CPUs = max(node.CPUs, 1)
		whole := p.Node.MemoryMB << 20
		node.MemoryBytes = min(max(node.MemoryBytes, whole*node.CPUs/p.Node.CPUs), whole)
	}
	a, err := r.t.fleet.Request(work.Shape{
		Nodes: s.Nodes, Node: placement.FreeNode{CPUs: node.CPUs, MemoryBytes: node.MemoryBytes, GPUs: node.GPUs},
		Walltime: int64(s.Walltime / time.Second), Together: s.Together,
	})
	if err != nil {
		panic(err) // the plan keeps to the limits of the pool
	}
	s.Node = node
	r.shapes[a.ID] = s
	if r.facts != nil {
		r.facts.expected[a.ID] = action.Expect
	}
	r.t.calls.Sbatch++
	r.submitted = append(r.submitted, at(r.t.cluster.Now()))
}

// snapshot returns the facts for a plan.
func (r *planning) snapshot() scheduler.Snapshot {
	now := r.t.cluster.Now()
	p := r.t.cluster.Partition(0)
	_, runs := r.t.progress.Open()
	r.submitted = slices.DeleteFunc(r.submitted, func(t time.Time) bool { return t.Before(at(now - 60)) })
	auto := r.t.auto
	auto.ActionID, auto.Submitted, auto.Canceled = theAction, r.submitted, r.canceled
	s := scheduler.Snapshot{
		Now: at(now), Working: runs > 0, Actions: []scheduler.AutoSchedule{auto},
		Pools: []scheduler.Pool{{
			Name: "partition " + p.Name, ActionID: theAction, Shared: !p.Whole, MaxNodes: most(p.MostPer, int64(p.Count)), MaxWalltime: time.Duration(p.Limit) * time.Second,
			Node:  scheduler.Resources{CPUs: p.Node.CPUs, MemoryBytes: p.Node.MemoryMB<<20 - runnerMemory, GPUs: p.Node.GPUs},
			Place: forecast.Place{Partitions: []string{p.Name}},
		}},
		Settings: scheduler.Settings{Margins: work.Margins},
	}
	if !p.Whole {
		s.Pools[0].MemoryPerCPU = p.Node.MemoryMB << 20 / p.Node.CPUs
	}
	for i, c := range r.t.progress.Classes {
		d := scheduler.Demand{Class: c, Pools: []string{s.Pools[0].Name}, Since: s.Now, Later: r.t.progress.Behind(i)}
		d.Ready = r.t.progress.Ready(i) + r.t.progress.Delayed(i) // their delay is shorter than the lead time of the product
		if d.Ready+d.Later > 0 {
			s.Demand = append(s.Demand, d)
		}
	}
	for _, a := range r.t.fleet.Allocations {
		s.Allocations = append(s.Allocations, r.allocation(a))
	}
	return s
}

// allocation returns an allocation as the plan sees it.
func (r *planning) allocation(a *work.Allocation) scheduler.Allocation {
	out := scheduler.Allocation{ID: a.ID, ActionID: theAction, Shape: r.shapes[a.ID], Asked: at(a.Asked), Reason: "Priority", Shortened: r.shortened[a.ID], Place: forecast.Place{Partitions: []string{r.t.cluster.Partition(0).Name}}}
	if a.Slurm.State == cluster.Pending {
		if a.Slurm.Expected > 0 {
			out.Expected = at(a.Slurm.Expected)
		}
		return out
	}
	out.State, out.Started, out.End = scheduler.Active, at(a.Slurm.Start), at(a.End())
	if a.Leaving() {
		out.State = scheduler.Closed
	}
	if a.Begun() {
		out.Shape.Nodes = a.NodesLeft()
	}
	for _, n := range a.Slurm.Placed {
		out.Hosts = append(out.Hosts, nodeName(n))
	}
	runs := a.Runs()
	slices.SortFunc(runs, func(a, b work.Run) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Until, b.Until)) })
	for i, run := range runs {
		if i > 0 && run == runs[i-1] {
			out.Running[len(out.Running)-1].Count++
			continue
		}
		c := &r.t.progress.Classes[run.Class]
		out.Running = append(out.Running, scheduler.Running{
			Each: scheduler.Resources{CPUs: c.CPUs, MemoryBytes: c.MemoryBytes, GPUs: c.GPUs}, Nodes: c.Nodes, Count: 1, Until: at(run.Until),
			ClassID: c.ID, Declared: time.Duration(c.RuntimeSeconds) * time.Second,
		})
	}
	return out
}

func nodeName(n int) string { return fmt.Sprintf("n%04d", n+1) }
