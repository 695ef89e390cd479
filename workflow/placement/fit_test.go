package placement_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestFits(t *testing.T) {
	node := placement.FreeNode{Name: "n1", CPUs: 4, MemoryBytes: 4 * gib}
	offer := placement.Offer{Nodes: []placement.FreeNode{node, {Name: "n2", CPUs: 8, MemoryBytes: 2 * gib, GPUs: 1}}, Slots: 10}
	with := func(change func(o *placement.Offer)) placement.Offer {
		o := offer
		change(&o)
		return o
	}
	small := placement.Class{CPUs: 1, MemoryBytes: gib, Nodes: 1, RuntimeSeconds: 60}
	class := func(change func(c *placement.Class)) placement.Class {
		c := small
		change(&c)
		return c
	}
	tests := []struct {
		name  string
		offer placement.Offer
		class placement.Class
		want  string
	}{
		{"fits", offer, small, "fits"},
		{"memory", offer, class(func(c *placement.Class) { c.MemoryBytes = 8 * gib }), "memory: needs 8.00 GiB, largest node has 4.00 GiB"},
		{"cpus", offer, class(func(c *placement.Class) { c.CPUs = 9 }), "cpus: needs 9, largest node has 8"},
		{"gpus", offer, class(func(c *placement.Class) { c.GPUs = 2 }), "gpus: needs 2, largest node has 1"},
		{"not on one node", offer, class(func(c *placement.Class) { c.CPUs, c.MemoryBytes = 8, 3*gib }), "no single node has enough free CPUs, memory and GPUs at once"},
		{"runtime", with(func(o *placement.Offer) { o.TimeLeftSeconds = ptr(int64(59)) }), small, "runtime: needs 1m, runner has 59s left"},
		{"runtime just fits", with(func(o *placement.Offer) { o.TimeLeftSeconds = ptr(int64(60)) }), small, "fits"},
		{"slots", with(func(o *placement.Offer) { o.Slots = 0 }), small, "slots: the runner takes no more jobs now"},
		{"labels of the runner alone", with(func(o *placement.Offer) { o.Labels = []string{"gpu"} }), small, "labels: job has none, runner has gpu"},
		{"labels of the job alone", offer, class(func(c *placement.Class) { c.Labels = []string{"a", "b"} }), "labels: job has a,b, runner has none"},
		{"labels", with(func(o *placement.Offer) { o.Labels = []string{"a", "b", "c"} }), class(func(c *placement.Class) { c.Labels = []string{"a", "c"} }), "fits"},
		{"scheduler", with(func(o *placement.Offer) { o.SchedulerConfigID = ptr(int64(4)) }), class(func(c *placement.Class) { c.SchedulerID = ptr(int64(5)) }),
			"scheduler: job belongs to scheduler 5, runner to another"},
		{"own scheduler", with(func(o *placement.Offer) { o.SchedulerConfigID = ptr(int64(5)) }), class(func(c *placement.Class) { c.SchedulerID = ptr(int64(5)) }), "fits"},
		{"runner without a scheduler", offer, class(func(c *placement.Class) { c.SchedulerID = ptr(int64(5)) }),
			"scheduler: job belongs to scheduler 5, runner to another"},
		{"two whole nodes", offer, class(func(c *placement.Class) { c.Nodes = 2 }), "fits"},
		{"three whole nodes", offer, class(func(c *placement.Class) { c.Nodes = 3 }), "nodes: needs 3 whole nodes, 2 idle"},
		{"two nodes with so much memory", offer, class(func(c *placement.Class) { c.Nodes, c.MemoryBytes = 2, 3*gib }), "nodes: needs 2 whole nodes, 1 idle"},
		{"two nodes, memory nowhere", offer, class(func(c *placement.Class) { c.Nodes, c.MemoryBytes = 2, 5*gib }), "memory: needs 5.00 GiB, largest node has 4.00 GiB"},
		{"a busy node is not whole", with(func(o *placement.Offer) {
			o.Nodes = []placement.FreeNode{node, {CPUs: 8, MemoryBytes: 8 * gib, Busy: true}}
		}),
			class(func(c *placement.Class) { c.Nodes = 2 }), "nodes: needs 2 whole nodes, 1 idle"},
		{"ignoring resources", with(func(o *placement.Offer) { o.IgnoreResources, o.TimeLeftSeconds = true, ptr(int64(1)) }),
			placement.Class{CPUs: 100, MemoryBytes: 1 << 60, Nodes: 9, RuntimeSeconds: 1e9, SchedulerID: ptr(int64(1))}, "fits"},
		{"labels count even then", with(func(o *placement.Offer) { o.IgnoreResources = true }), class(func(c *placement.Class) { c.Labels = []string{"x"} }),
			"labels: job has x, runner has none"},
		{"no nodes", placement.Offer{Slots: 1}, small, "memory: needs 1.00 GiB, largest node has 0 B"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, why := placement.NewPacker(tt.offer).Fits(tt.class)
			if why.String() != tt.want || ok != (tt.want == "fits") {
				t.Errorf("%v, %q, want %q", ok, why, tt.want)
			}
			if _, took := placement.NewPacker(tt.offer).Take(tt.class); took != ok {
				t.Errorf("taken %v, fits %v", took, ok)
			}
		})
	}
}

// TestTakePutsJobsWhereTheyLeaveLeast checks that jobs go to the node with the least room
// left, so that large nodes stay whole.
func TestTakePutsJobsWhereTheyLeaveLeast(t *testing.T) {
	p := placement.NewPacker(placement.Offer{Slots: 9, Nodes: []placement.FreeNode{
		{Name: "gpu", CPUs: 4, MemoryBytes: 8, GPUs: 1},
		{Name: "large", CPUs: 8, MemoryBytes: 8},
		{Name: "small", CPUs: 2, MemoryBytes: 8},
	}})
	var got []int
	for _, c := range []placement.Class{{CPUs: 2}, {CPUs: 2}, {CPUs: 6}, {CPUs: 4, GPUs: 1}} {
		node, ok := p.Take(c)
		if !ok {
			t.Fatalf("%+v was not taken", c)
		}
		got = append(got, node)
	}
	if diff := cmp.Diff([]int{2, 1, 1, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := p.Take(placement.Class{CPUs: 1}); ok {
		t.Error("a job was taken although no CPU is free")
	}
}

func TestTakeWholeNodes(t *testing.T) {
	p := placement.NewPacker(placement.Offer{Slots: 9, Nodes: []placement.FreeNode{{CPUs: 2}, {CPUs: 4}, {CPUs: 4}}})
	if node, ok := p.Take(placement.Class{CPUs: 3, Nodes: 2}); !ok || node != 1 {
		t.Fatalf("node %d, %v", node, ok)
	}
	if _, ok := p.Take(placement.Class{CPUs: 3, Nodes: 1}); ok {
		t.Error("a job was taken on a node that another job has as a whole")
	}
	if node, ok := p.Take(placement.Class{CPUs: 1, Nodes: 1}); !ok || node != 0 {
		t.Errorf("node %d, %v", node, ok)
	}
	if ok, _ := p.Fits(placement.Class{CPUs: 1, Nodes: 2}); ok {
		t.Error("two whole nodes were promised although none is idle")
	}
}

func TestTakeMakesANodeBusy(t *testing.T) {
	p := placement.NewPacker(placement.Offer{Slots: 9, Nodes: []placement.FreeNode{{CPUs: 4}, {CPUs: 4}}})
	if _, ok := p.Take(placement.Class{CPUs: 1, Nodes: 1}); !ok {
		t.Fatal("not taken")
	}
	if ok, why := p.Fits(placement.Class{CPUs: 1, Nodes: 2}); ok || why.Available != 1 {
		t.Errorf("two whole nodes beside a job on one of them: %v, %s", ok, why)
	}
}

func TestTakeStopsWithTheSlots(t *testing.T) {
	p := placement.NewPacker(placement.Offer{Slots: 2, IgnoreResources: true})
	for range 2 {
		if _, ok := p.Take(placement.Class{CPUs: 99}); !ok {
			t.Fatal("not taken")
		}
	}
	if _, ok := p.Take(placement.Class{}); ok || !p.Empty() {
		t.Error("more jobs than slots")
	}
}

func TestCandidates(t *testing.T) {
	mine, other := ptr(int64(1)), ptr(int64(2))
	classes := []placement.Class{
		{ID: 1, CPUs: 1, SchedulerID: other, Priority: 9},
		{ID: 2, CPUs: 1, SchedulerID: mine},
		{ID: 3, CPUs: 2},
		{ID: 4, CPUs: 99, Priority: 7},
		{ID: 5, CPUs: 1, Priority: 1},
	}
	offer := placement.Offer{Slots: 5, Nodes: []placement.FreeNode{{CPUs: 4}}, SchedulerConfigID: mine}
	ids := func(o placement.Offer, classes []placement.Class) (ids []int64) {
		for _, c := range placement.NewPacker(o).Candidates(classes) {
			ids = append(ids, c.ID)
		}
		return ids
	}
	strict := offer
	strict.StrictScheduler = true
	tests := []struct {
		name    string
		offer   placement.Offer
		classes []placement.Class
		want    []int64
	}{
		{"in the order of claiming, without another scheduler's", offer, classes, []int64{5, 3, 2}},
		{"another scheduler's if there is nothing else", offer, classes[:1], []int64{1}},
		{"never if strict", strict, classes[:1], nil},
		{"a class that does not fit does not count", offer, []placement.Class{classes[0], classes[3]}, []int64{1}},
		{"none", offer, nil, nil},
		{"by priority alone", placement.Offer{Slots: 5, IgnoreResources: true}, classes, []int64{1, 4, 5, 2, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ids(tt.offer, tt.classes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	p := placement.NewPacker(offer)
	if n := len(p.Candidates(classes[:1])); n != 1 {
		t.Fatalf("%d candidates", n)
	}
	if _, ok := p.Take(classes[0]); !ok {
		t.Error("a candidate of another scheduler was not taken")
	}
}

func TestCompareClasses(t *testing.T) {
	sorted := []placement.Class{
		{ID: 1, Priority: 2},
		{ID: 2, Priority: 1, GPUs: 1},
		{ID: 3, Priority: 1, RuntimeSeconds: 9},
		{ID: 4, Priority: 1, RuntimeSeconds: 8, MemoryBytes: 9},
		{ID: 5, Priority: 1, RuntimeSeconds: 8, MemoryBytes: 8, CPUs: 2},
		{ID: 6, Priority: 1, RuntimeSeconds: 8, MemoryBytes: 8, CPUs: 1},
	}
	mixed := slices.Clone(sorted)
	slices.Reverse(mixed)
	slices.SortFunc(mixed, placement.CompareClasses)
	if diff := cmp.Diff(sorted, mixed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPackerIsExact checks, for random offers and jobs, that no node gives more than it
// has, that a whole node is given once, and that a job is rejected only if no node could
// host it.
func TestPackerIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 6)
		offer := placement.Offer{Slots: rapid.Int64Range(0, 12).Draw(t, "slots")}
		for range rapid.IntRange(0, 4).Draw(t, "nodes") {
			offer.Nodes = append(offer.Nodes, placement.FreeNode{CPUs: amount.Draw(t, "cpus"), MemoryBytes: amount.Draw(t, "memory"),
				GPUs: rapid.Int64Range(0, 2).Draw(t, "gpus"), Busy: rapid.Bool().Draw(t, "busy")})
		}
		before := slices.Clone(offer.Nodes)
		free := slices.Clone(offer.Nodes)
		p, taken := placement.NewPacker(offer), int64(0)
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			c := placement.Class{CPUs: amount.Draw(t, "c"), MemoryBytes: amount.Draw(t, "m"), GPUs: rapid.Int64Range(0, 1).Draw(t, "g"),
				Nodes: rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "n")}
			fits, _ := p.Fits(c)
			node, ok := p.Take(c)
			if ok != fits {
				t.Fatalf("fits %v, taken %v", fits, ok)
			}
			if could := taken < offer.Slots && couldHost(free, c); could != ok {
				t.Fatalf("%+v taken %v, but it could be %v on %+v", c, ok, could, free)
			}
			if ok {
				taken++
				takeFrom(t, free, node, c)
			}
		}
		if diff := cmp.Diff(before, offer.Nodes); diff != "" {
			t.Fatalf("the offer was changed:\n%s", diff)
		}
	})
}

func couldHost(free []placement.FreeNode, c placement.Class) bool {
	n := int64(0)
	for _, f := range free {
		if c.CPUs <= f.CPUs && c.MemoryBytes <= f.MemoryBytes && c.GPUs <= f.GPUs && (c.Nodes <= 1 || !f.Busy) {
			n++
		}
	}
	return n >= c.Nodes
}

// takeFrom updates what the test expects to be free.
func takeFrom(t *rapid.T, free []placement.FreeNode, node int, c placement.Class) {
	if c.Nodes <= 1 {
		f := &free[node]
		f.CPUs, f.MemoryBytes, f.GPUs, f.Busy = f.CPUs-c.CPUs, f.MemoryBytes-c.MemoryBytes, f.GPUs-c.GPUs, true
		if f.CPUs < 0 || f.MemoryBytes < 0 || f.GPUs < 0 {
			t.Fatalf("node %d gave more than it has: %+v", node, *f)
		}
		return
	}
	for i, left := node, c.Nodes; left > 0; i++ {
		if f := &free[i]; !f.Busy && c.CPUs <= f.CPUs && c.MemoryBytes <= f.MemoryBytes && c.GPUs <= f.GPUs {
			*f, left = placement.FreeNode{Busy: true}, left-1
		}
	}
}

func BenchmarkPacker(b *testing.B) {
	offer := placement.Offer{Slots: 1 << 40, Nodes: []placement.FreeNode{{CPUs: 1 << 40, MemoryBytes: 1 << 60}}}
	c := placement.Class{CPUs: 1, MemoryBytes: 1, Nodes: 1}
	p := placement.NewPacker(offer)
	for b.Loop() {
		if _, ok := p.Take(c); !ok {
			b.Fatal("full")
		}
	}
}

const gib = int64(1) << 30

func ptr[T any](v T) *T { return &v }
