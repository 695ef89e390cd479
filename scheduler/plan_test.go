package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// A partition of four nodes with 10 CPUs and 40 GiB each.
func debugPool(change ...func(*Pool)) []Pool {
	p := Pool{Name: "debug", ActionID: 1, Node: Resources{CPUs: 10, MemoryBytes: 40 * gib, GPUs: 4}, MaxWalltime: 4 * time.Hour, MaxNodes: 2, Hosts: []string{"n1", "n2", "n3", "n4"}}
	for _, c := range change {
		c(&p)
	}
	return []Pool{p}
}

// jobs are ready jobs of one CPU that run for so long.
func jobs(ready int64, runtime time.Duration, change ...func(*Demand)) Demand {
	d := Demand{Class: placement.Class{ID: 1, CPUs: 1, MemoryBytes: gib, Nodes: 1, RuntimeSeconds: int64(runtime / time.Second)}, Pools: []string{"debug"}, Ready: ready, Since: noon}
	for _, c := range change {
		c(&d)
	}
	return d
}

func auto(change ...func(*AutoSchedule)) []AutoSchedule {
	a := AutoSchedule{ActionID: 1}
	for _, c := range change {
		c(&a)
	}
	return []AutoSchedule{a}
}

// pending is an allocation of one node of the partition that is waited for.
func pending(id int64, walltime time.Duration, change ...func(*Allocation)) Allocation {
	a := Allocation{ID: id, ActionID: 1, Asked: noon, Shape: Shape{Pool: "debug", Nodes: 1, Node: debugPool()[0].Node, WholeNodes: true, Walltime: walltime}}
	for _, c := range change {
		c(&a)
	}
	return a
}

// active is one that has run for as long as is left.
func active(id int64, left time.Duration, running ...Running) Allocation {
	return pending(id, 2*left, func(a *Allocation) {
		a.State, a.End, a.Hosts, a.Running = Active, noon.Add(left), []string{"n1"}, running
	})
}

// told is a decision as people read it.
func told(d Decision) string {
	var b strings.Builder
	for _, a := range d.Actions {
		what := a.Kind.String()
		if a.Kind == Cancel {
			what = fmt.Sprint(what, " ", a.Allocation)
		}
		if !a.Until.IsZero() {
			what += fmt.Sprintf(" until %s", a.Until.Format("15:04:05"))
		}
		fmt.Fprintf(&b, "%s: %s\n", what, a.Reason)
	}
	for _, c := range d.Coverage {
		if c.Uncovered > 0 && !strings.Contains(b.String(), c.Reason) {
			fmt.Fprintf(&b, "%d uncovered: %s\n", c.Uncovered, c.Reason)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestPlan(t *testing.T) {
	tenMore := Running{Each: Resources{CPUs: 1, MemoryBytes: gib}, Nodes: 1, Count: 10, Until: noon.Add(30 * time.Minute)}
	for _, tc := range []struct {
		name string
		s    Snapshot
		want string
	}{
		{"nothing to do", Snapshot{Pools: debugPool(), Actions: auto()}, ""},
		{"short jobs run one after the other", Snapshot{Demand: []Demand{jobs(100, time.Minute)}},
			"submit: 100 ready jobs without a place: 1 allocation of 1 node for 12m in debug"},
		{"long jobs run side by side", Snapshot{Demand: []Demand{jobs(45, 2*time.Hour)}},
			"submit: 45 ready jobs without a place: 5 allocations of 1 node for 2h3m in debug"},
		{"of a shared node no more than is needed", Snapshot{Demand: []Demand{jobs(3, time.Hour)}, Pools: debugPool(func(p *Pool) { p.Shared = true })},
			"submit: 3 ready jobs without a place: 1 allocation of 1 node for 1h3m with 3 CPUs, 3.12 GiB in debug"},
		{"no more at a time than a runner runs", Snapshot{Demand: []Demand{jobs(6, time.Hour)}, Pools: debugPool(func(p *Pool) { p.Node.Slots = 2 }), Actions: auto(func(a *AutoSchedule) { a.MaxAllocations = 2 })},
			"submit: 4 ready jobs without a place: 1 allocation of 1 node for 2h3m in debug\nsubmit: 2 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"nor in what is pending", Snapshot{Demand: []Demand{jobs(3, time.Hour)}, Allocations: []Allocation{pending(1, 63*time.Minute, func(a *Allocation) { a.Shape.Node.Slots = 2 })}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"GPUs of all jobs of an allocation, not of one", Snapshot{Demand: []Demand{jobs(3, time.Hour, func(d *Demand) { d.GPUs = 1 })}, Pools: debugPool(func(p *Pool) { p.Shared = true })},
			"submit: 3 ready jobs without a place: 1 allocation of 1 node for 1h3m with 3 CPUs, 3.12 GiB, 3 GPUs in debug"},
		{"small jobs beside large ones", Snapshot{Demand: []Demand{jobs(20, 10*time.Minute), jobs(1, time.Hour, func(d *Demand) { d.ID, d.CPUs = 2, 8 })}},
			"submit: 13 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug\nsubmit: 8 ready jobs without a place: 1 allocation of 1 node for 12m in debug"},
		{"jobs of several nodes get as many", Snapshot{Demand: []Demand{jobs(3, 2*time.Hour, func(d *Demand) { d.Nodes = 2 })}},
			"submit: 3 ready jobs without a place: 3 allocations of 2 nodes for 2h3m in debug"},
		{"more nodes than are allowed", Snapshot{Demand: []Demand{jobs(3, time.Hour, func(d *Demand) { d.Nodes = 3 })}},
			"3 uncovered: fits no allocation; debug: nodes: needs 3, an allocation has at most 2"},

		{"what has grown beyond all nodes is not asked for", Snapshot{Demand: []Demand{jobs(3, time.Hour, func(d *Demand) { d.MemoryBytes = 60 * gib })}},
			"3 uncovered: fits no allocation; debug: memory: needs 60.00 GiB, largest node has 40.00 GiB"},
		{"nor what runs too long", Snapshot{Demand: []Demand{jobs(1, 4*time.Hour+time.Second)}},
			"1 uncovered: fits no allocation; debug: runtime: needs 4h1s, an allocation has at most 4h"},
		{"for what runs as long as an allocation may last, the margins bend", Snapshot{Demand: []Demand{jobs(1, 4*time.Hour)}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 4h in debug"},
		{"the walltime of a scheduler is kept", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Pools: debugPool(func(p *Pool) { p.Walltime = 3 * time.Hour })},
			"submit: 10 ready jobs without a place: 1 allocation of 1 node for 3h in debug"},
		{"but a retry with more runtime and memory gets what it needs", Snapshot{Demand: []Demand{jobs(1, 90*time.Minute, func(d *Demand) { d.MemoryBytes = 6 * gib })},
			Pools: debugPool(func(p *Pool) { p.Shared, p.Walltime, p.Asks = true, time.Hour, Resources{MemoryBytes: 4 * gib} })},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h33m with 1 CPU, 6.00 GiB in debug"},
		{"margins shrink with the time there is", Snapshot{Demand: []Demand{jobs(10, 50*time.Second)}, Pools: debugPool(func(p *Pool) { p.MaxWalltime = time.Minute })},
			"submit: 10 ready jobs without a place: 1 allocation of 1 node for 1m in debug"},

		{"what is pending is subtracted", Snapshot{Demand: []Demand{jobs(25, time.Hour)}, Allocations: []Allocation{pending(1, 63*time.Minute), pending(2, 63*time.Minute)}},
			"submit: 5 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"what is live too, when its jobs have ended", Snapshot{Demand: []Demand{jobs(15, 30*time.Minute)}, Allocations: []Allocation{active(1, 70*time.Minute, tenMore)}},
			"submit: 5 ready jobs without a place: 1 allocation of 1 node for 33m in debug"},
		{"a retry at the end of an allocation needs another", Snapshot{Demand: []Demand{jobs(1, 30*time.Minute)}, Allocations: []Allocation{active(1, 31*time.Minute)}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 33m in debug"},
		{"a suspended allocation takes nothing", Snapshot{Demand: []Demand{jobs(1, time.Hour)}, Allocations: []Allocation{pending(1, 2*time.Hour, func(a *Allocation) { a.State = Closed })}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"surplus is canceled, the youngest first", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{pending(2, 63*time.Minute, func(a *Allocation) { a.Asked = noon.Add(time.Second) }), pending(1, 63*time.Minute)}},
			"cancel 2: other live and pending allocations can take all jobs that are ready or will be"},
		{"or the one that Slurm has put back into its queue", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{pending(2, 63*time.Minute, func(a *Allocation) { a.Asked = noon.Add(time.Second) }), pending(1, 63*time.Minute, func(a *Allocation) { a.Requeued = true })}},
			"cancel 1: other live and pending allocations can take all jobs that are ready or will be"},
		{"what Slurm starts again counts", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{pending(1, 63*time.Minute, func(a *Allocation) { a.Requeued, a.Eligible = true, noon.Add(2*time.Minute) })}}, ""},
		{"unless it takes long", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{pending(1, 63*time.Minute, func(a *Allocation) { a.Requeued, a.Eligible = true, noon.Add(time.Hour) })}},
			"cancel 1: Slurm has requeued it and does not start it before 13:00:00\nsubmit: 10 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"what may come back is waited for", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{pending(1, 63*time.Minute, func(a *Allocation) { a.State = Returning })}}, ""},
		{"and not canceled", Snapshot{Allocations: []Allocation{pending(1, 63*time.Minute, func(a *Allocation) { a.State = Returning })}}, ""},
		{"blocked jobs behind running ones keep it", Snapshot{Demand: []Demand{jobs(0, time.Hour, func(d *Demand) { d.Later = 11 })}, Working: true, Allocations: []Allocation{pending(1, 63*time.Minute), pending(2, 63*time.Minute)}}, ""},
		{"what a person asked for stays", Snapshot{Allocations: []Allocation{pending(1, time.Hour, func(a *Allocation) { a.ActionID = 0 })}}, ""},
		{"so that what was asked for besides goes", Snapshot{Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{pending(1, 63*time.Minute), pending(2, 63*time.Minute, func(a *Allocation) { a.ActionID, a.Asked = 0, noon.Add(time.Minute) })}},
			"cancel 1: other live and pending allocations can take all jobs that are ready or will be"},
		{"until the workflow has ended", Snapshot{Ended: true, Allocations: []Allocation{pending(1, time.Hour, func(a *Allocation) { a.ActionID = 0 }), active(2, time.Hour)}},
			"cancel 1: the workflow has ended"},

		{"few retries wait for more", Snapshot{Demand: []Demand{jobs(2, time.Hour)}, Working: true, Actions: auto(func(a *AutoSchedule) { a.MinReadyJobs = 5 })},
			"wait until 12:02:00: 2 ready jobs have no place; waiting for 5, or until the oldest has waited for 2m"},
		{"but not for ever", Snapshot{Demand: []Demand{jobs(2, time.Hour, func(d *Demand) { d.Since = noon.Add(-2 * time.Minute) })}, Working: true, Actions: auto(func(a *AutoSchedule) { a.MinReadyJobs = 5 })},
			"submit: 2 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"nor if no more can come", Snapshot{Demand: []Demand{jobs(2, time.Hour)}, Actions: auto(func(a *AutoSchedule) { a.MinReadyJobs = 5 })},
			"submit: 2 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"a delayed retry is waited for", Snapshot{Demand: []Demand{jobs(0, time.Hour, func(d *Demand) { d.Later, d.Next = 1, noon.Add(10*time.Minute) })}},
			"wait until 12:10:00: delayed jobs become ready then"},

		{"with few allocations each takes more", Snapshot{Demand: []Demand{jobs(100, time.Hour)}, Actions: auto(func(a *AutoSchedule) { a.MaxAllocations = 4 })},
			"submit: 90 ready jobs without a place: 3 allocations of 1 node for 3h3m in debug\nsubmit: 10 ready jobs without a place: 1 allocation of 1 node for 1h3m in debug"},
		{"and what does not fit waits", Snapshot{Demand: []Demand{jobs(100, time.Hour)}, Allocations: []Allocation{active(1, 5*time.Minute)}, Actions: auto(func(a *AutoSchedule) { a.MaxAllocations = 2 })},
			"submit: 30 ready jobs without a place: 1 allocation of 1 node for 3h3m in debug\nwait: max_allocations is 2: there are 1 live and 0 pending"},
		{"submissions are spread", Snapshot{Demand: []Demand{jobs(40, 2*time.Hour)}, Actions: auto(func(a *AutoSchedule) { a.MaxSubmitPerMinute, a.Submitted = 3, []time.Time{noon.Add(-20 * time.Second)} })},
			"submit: 20 ready jobs without a place: 2 allocations of 1 node for 2h3m in debug\nwait until 12:00:40: max_submit_per_minute is 3"},
		{"over a minute", Snapshot{Demand: []Demand{jobs(80, 2*time.Hour)}},
			"submit: 60 ready jobs without a place: 6 allocations of 1 node for 2h3m in debug\nwait until 12:01:00: max_submit_per_minute is 6"},
		{"a limit of the site is waited for", Snapshot{Demand: []Demand{jobs(1, time.Hour)}, Pools: debugPool(func(p *Pool) {
			p.Hold = &Hold{noon.Add(time.Minute), "Slurm says QOSMaxSubmitJobPerUserLimit", false, true}
		})},
			"wait until 12:01:00: Slurm says QOSMaxSubmitJobPerUserLimit"},
		{"and known ones are kept", Snapshot{Demand: []Demand{jobs(20, 2*time.Hour)}, Pools: debugPool(func(p *Pool) { p.Room = new(1) })},
			"submit: 10 ready jobs without a place: 1 allocation of 1 node for 2h3m in debug\nwait: the site accepts no more of your allocations now"},

		{"what one partition does not take goes to the next", Snapshot{Demand: []Demand{jobs(40, time.Hour, func(d *Demand) { d.Pools = []string{"debug", "long"} })},
			Pools: append(debugPool(func(p *Pool) { p.Hold = &Hold{noon.Add(time.Minute), "Slurm accepts no more now", false, true} }), debugPool(func(p *Pool) { p.Name = "long" })...)},
			"submit: 40 ready jobs without a place: 4 allocations of 1 node for 1h3m in long; instead of debug, as Slurm accepts no more now\nwait until 12:01:00: Slurm accepts no more now"},
		{"but not what is refused everywhere", Snapshot{Demand: []Demand{jobs(40, time.Hour, func(d *Demand) { d.Pools = []string{"debug", "long"} })},
			Pools: append(debugPool(func(p *Pool) { p.Hold = &Hold{noon.Add(time.Minute), "slurmctld does not answer", false, false} }), debugPool(func(p *Pool) { p.Name = "long" })...)},
			"wait until 12:01:00: slurmctld does not answer"},
		{"a node that failed a job is excluded", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Avoid = []string{"n1"} })}, Allocations: []Allocation{active(1, 3*time.Hour)}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m, without n1 in debug"},
		{"unless no other is left", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Avoid = []string{"n1", "n2", "n3", "n4"} })}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m in debug; n1,n2,n3,n4 not excluded, as too few others are left"},
		{"nodes of elsewhere are not excluded", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Avoid = []string{"login", "n1"} })}},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m, without n1 in debug"},
		{"nor are those that are asked for by name", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Avoid = []string{"n1", "n3"} })}, Pools: debugPool(func(p *Pool) { p.Required = []string{"n1"} })},
			"submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m, without n3 in debug; n1 requested by name, although avoided"},
		{"as many nodes as are asked for by name", Snapshot{Demand: []Demand{jobs(1, time.Hour)}, Pools: debugPool(func(p *Pool) { p.Required = []string{"n1", "n2"} })},
			"submit: 1 ready job without a place: 1 allocation of 2 nodes for 1h3m in debug"},
		{"options that leave no node", Snapshot{Demand: []Demand{jobs(1, time.Hour)}, Pools: debugPool(func(p *Pool) { p.Hosts = []string{} })},
			"1 uncovered: fits no allocation; debug: nodes: needs 1, its options leave 0"},
		{"after a refusal nothing is excluded", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Avoid = []string{"n1"} })}, Pools: debugPool(func(p *Pool) {
			p.Hosts, p.Failures = nil, Failures{InARow: 1, Last: noon.Add(-time.Hour), Reason: "Invalid node name", Refused: true}
		})}, "submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m in debug; n1 not excluded, as Slurm has refused the last request"},
		{"a node on which an allocation failed is excluded", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Avoid = []string{"n2"} })}, Pools: debugPool(func(p *Pool) {
			p.Failures = Failures{InARow: 1, Last: noon, Reason: "Slurm says FAILED, on n1", Nodes: []string{"n1"}}
		})}, "submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m, without n1,n2 in debug"},
		{"unless all have failed", Snapshot{Demand: []Demand{jobs(1, time.Hour)}, Pools: debugPool(func(p *Pool) {
			p.Failures = Failures{InARow: 4, Last: noon, Reason: "Slurm says FAILED, on n4", Nodes: []string{"n1", "n2", "n3", "n4"}}
		})}, "submit: 1 ready job without a place: 1 allocation of 1 node for 1h3m in debug; n1,n2,n3,n4 not excluded, as too few others are left"},
		{"labelled jobs are for runners of that label", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Labels = []string{"gpu"} })}},
			"1 uncovered: fits no allocation; debug: labels: job has gpu, runner has none"},
		{"a job without a partition", Snapshot{Demand: []Demand{jobs(1, time.Hour, func(d *Demand) { d.Pools = nil })}},
			"1 uncovered: there is no scheduler or partition that it may use"},
		{"a workflow without the action", Snapshot{Demand: []Demand{jobs(1, time.Hour)}, Actions: auto(func(a *AutoSchedule) { a.ActionID = 2 })},
			"1 uncovered: there is no scheduler or partition that it may use"},
		{"claims are held for good", Snapshot{Held: &Hold{Reason: "claims are held: 3 jobs have failed"}, Demand: []Demand{jobs(5, time.Hour)}, Pools: debugPool(), Actions: auto(),
			Allocations: []Allocation{pending(1, 2*time.Hour)}}, "wait: claims are held: 3 jobs have failed\ncancel 1: claims are held: 3 jobs have failed"},
		{"a pause keeps pending allocations", Snapshot{Held: &Hold{Reason: "claims are held: paused by ann", Keep: true}, Demand: []Demand{jobs(50, time.Hour)}, Pools: debugPool(), Actions: auto(),
			Allocations: []Allocation{pending(1, 2*time.Hour)}}, "wait: claims are held: paused by ann"},
		{"claims are held for a time", Snapshot{Held: &Hold{Reason: "claims are held: a breaker", Until: noon.Add(time.Hour)}, Demand: []Demand{jobs(50, time.Hour)}, Pools: debugPool(), Actions: auto(),
			Allocations: []Allocation{pending(1, 2*time.Hour)}}, "wait until 13:00:00: claims are held: a breaker"},
		{"ready jobs of a canceled workflow", Snapshot{Ended: true, Demand: []Demand{jobs(1, time.Hour)}, Allocations: []Allocation{pending(1, 2*time.Hour)}},
			"cancel 1: the workflow has ended"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.s
			s.Now = noon
			if s.Pools == nil {
				s.Pools = debugPool()
			}
			if s.Actions == nil {
				s.Actions = auto()
			}
			if diff := cmp.Diff(tc.want, told(Plan(s))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestGivingUp: after failures in a row nothing is requested but a probe now and
// then, and one success is enough to go on.
func TestGivingUp(t *testing.T) {
	s := Snapshot{Demand: []Demand{jobs(100, 2*time.Hour)}, Actions: auto()}
	for _, tc := range []struct {
		failures int
		ago      time.Duration
		pending  bool
		want     string
	}{
		{4, time.Second, false, "submit: 60 ready"},
		{5, 4 * time.Minute, false, "pause until 12:01:00: 5 allocations in a row did no work (Invalid account); the next is tried later"},
		{5, 5 * time.Minute, false, "probe: 5 allocations in a row did no work (Invalid account): trying one; 10 ready jobs without a place"},
		{6, 9 * time.Minute, false, "pause until 12:01:00: 6 allocations"},
		{50, time.Minute, false, "pause until 12:59:00: 50 allocations"},
		{6, 10 * time.Minute, true, "pause: 6 allocations in a row did no work (Invalid account); waiting for the result of the next"},
		{0, 0, true, "submit: 60 ready"},
	} {
		s.Now = noon
		s.Pools = debugPool(func(p *Pool) {
			p.Failures = Failures{InARow: tc.failures, Last: noon.Add(-tc.ago), Reason: "Invalid account"}
		})
		s.Allocations = nil
		if tc.pending {
			s.Allocations = []Allocation{pending(1, 123*time.Minute)}
		}
		if got := told(Plan(s)); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%d failures, %s ago: %s\nwant %s", tc.failures, tc.ago, got, tc.want)
		}
	}
}

// TestRepeatedPlansAskOnce: what is requested is not requested again.
func TestRepeatedPlansAskOnce(t *testing.T) {
	s := Snapshot{Now: noon, Demand: []Demand{jobs(35, time.Hour)}, Pools: debugPool(), Actions: auto()}
	for range 20 {
		s = carriedOut(s, Plan(s))
		s.Now = s.Now.Add(time.Minute)
	}
	if len(s.Allocations) != 4 {
		t.Errorf("%d allocations for 35 jobs in nodes of 10", len(s.Allocations))
	}
}

// TestSerializedChain: the rest of a chain is kept while jobs are
// behind those that run, and each link waits for the one before.
func TestSerializedChain(t *testing.T) {
	s := Snapshot{Now: noon, Working: true, Pools: debugPool(func(p *Pool) { p.Serialize, p.Walltime = true, time.Hour }), Actions: auto()}
	s.Demand = []Demand{jobs(30, 50*time.Minute)}
	d := Plan(s)
	if len(d.Actions) != 1 || d.Actions[0].Count != 3 || !d.Actions[0].Shape.Serialize {
		t.Fatalf("three links are needed: %+v", d)
	}
	s = carriedOut(s, d)
	s.Demand = []Demand{jobs(0, 50*time.Minute, func(d *Demand) { d.Later = 30 })}
	if got := told(Plan(s)); got != "" {
		t.Errorf("the chain is needed later, but: %s", got)
	}
}
