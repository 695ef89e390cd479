package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestAllocationOf(t *testing.T) {
	asked, end := noon.Add(-time.Hour), noon.Add(time.Hour)
	stored := func(change ...func(*compute.Allocation)) *compute.Allocation {
		a := &compute.Allocation{
			ID: 7, State: compute.AllocationPending, SchedulerConfigID: new(int64(3)), AskedMS: asked.UnixMilli(), LimitMS: end.UnixMilli(),
			Request: compute.AllocationRequest{
				ActionID: 1, Pool: "debug", Nodes: 2, OneRunnerPerNode: true, WalltimeS: 7200, Exclude: []string{"n9"},
				Offer: compute.AllocationOffer{CPUs: 10, MemoryBytes: 40 * gib, GPUs: 1},
			},
		}
		for _, c := range change {
			c(a)
		}
		return a
	}
	active := func(a *compute.Allocation) { a.State, a.SlurmState = compute.AllocationActive, "RUNNING" }
	load := &store.AllocationLoad{
		Runners: []store.AllocationNode{{Host: "n1", Nodes: 1, CPUs: 9, MemoryBytes: 39 * gib, Labels: []string{"x"}}, {Host: "n2", Nodes: 1, CPUs: 8, MemoryBytes: 40 * gib, Labels: []string{"x"}}},
		Jobs:    []store.RunningJobs{{Class: placement.Class{CPUs: 2, MemoryBytes: gib, Nodes: 1}, Count: 3, Until: noon}},
	}
	waiting := Allocation{
		ID: 7, ActionID: 1, State: Pending, Asked: asked.Local(),
		Shape: Shape{Pool: "debug", SchedulerID: new(int64(3)), Nodes: 2, Node: Resources{CPUs: 10, MemoryBytes: 40 * gib, GPUs: 1}, Walltime: 2 * time.Hour, Exclude: []string{"n9"}},
	}
	with := func(a Allocation, change func(*Allocation)) Allocation { change(&a); return a }
	closed := with(waiting, func(a *Allocation) { a.State = Closed })
	starting := with(waiting, func(a *Allocation) { a.State, a.End = Active, end.Local() })
	for _, tc := range []struct {
		name   string
		stored *compute.Allocation
		load   *store.AllocationLoad
		silent bool
		want   Allocation
	}{
		{"pending", stored(), nil, false, waiting},
		{"not known to Slurm yet", stored(func(a *compute.Allocation) { a.State = compute.AllocationIntent }), nil, false, waiting},
		{"one runner leads all nodes", stored(func(a *compute.Allocation) { a.Request.OneRunnerPerNode = false }), nil, false,
			with(waiting, func(a *Allocation) { a.Shape.Together = true })},
		{"its runners have not come", stored(active), nil, false, starting},
		{"without an end", stored(active, func(a *compute.Allocation) { a.LimitMS = 0 }), nil, false, with(starting, func(a *Allocation) { a.End = time.Time{} })},
		{"what its nodes have in fact", stored(active), load, false, with(starting, func(a *Allocation) {
			a.Shape.Node, a.Shape.Labels, a.Hosts = Resources{CPUs: 8, MemoryBytes: 39 * gib}, []string{"x"}, []string{"n1", "n2"}
			a.Running = []Running{{Each: Resources{CPUs: 2, MemoryBytes: gib}, Nodes: 1, Count: 3, Until: noon}}
		})},
		{"the runner of one node is to come", stored(active), &store.AllocationLoad{Runners: load.Runners[:1]}, false, with(starting, func(a *Allocation) {
			a.Shape.Node, a.Shape.Labels, a.Hosts = Resources{CPUs: 9, MemoryBytes: 39 * gib}, []string{"x"}, []string{"n1"}
		})},
		{"all runners have left", stored(active), &store.AllocationLoad{Left: 2}, false, with(starting, func(a *Allocation) { a.Shape.Nodes = 0 })},
		{"silent", stored(active), load, true, closed},
		{"suspended", stored(active, func(a *compute.Allocation) { a.SlurmState = "SUSPENDED" }), load, false, closed},
		{"ending", stored(active, func(a *compute.Allocation) { a.OverMS = 1 }), load, false, closed},
		{"to be canceled", stored(func(a *compute.Allocation) { a.CancelMS = 1 }), nil, false, closed},
		{"one too many", stored(func(a *compute.Allocation) { a.IsDuplicate = true }), nil, false, closed},
	} {
		if diff := cmp.Diff(tc.want, AllocationOf(tc.stored, tc.load, tc.silent)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestDemandOf(t *testing.T) {
	class := placement.Class{ID: 4, CPUs: 1}
	got := DemandOf(store.ClassDemand{Class: class, AvoidNodes: []string{"n1"}, Ready: 3, Delayed: 2, Behind: 5, NextMS: noon.UnixMilli()}, []string{"debug"}, noon)
	want := Demand{Class: class, Avoid: []string{"n1"}, Pools: []string{"debug"}, Ready: 3, Later: 7, Since: noon, Next: noon.Local()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := DemandOf(store.ClassDemand{}, nil, noon); !got.Next.IsZero() {
		t.Errorf("nothing is delayed, but: %s", got.Next)
	}
}
