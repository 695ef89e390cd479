package placement_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestReserve(t *testing.T) {
	total := placement.Offer{Slots: 9, Nodes: []placement.FreeNode{{CPUs: 4}, {CPUs: 8}, {CPUs: 8}}}
	free := placement.Offer{Slots: 9, Nodes: []placement.FreeNode{{CPUs: 4}, {CPUs: 2, Busy: true}, {CPUs: 5, Busy: true}}}
	p := placement.NewPacker(free)
	if !p.Reserve(placement.Class{CPUs: 6}, total) {
		t.Fatal("not reserved")
	}
	if ok, why := p.Fits(placement.Class{CPUs: 5}); ok {
		t.Error("the reserved room is given away")
	} else if why.Available != 4 {
		t.Errorf("%d CPUs are left on the largest node", why.Available)
	}
	for i, want := range []int{1, 2, 0} { // two CPUs are free next to the reserved room
		if node, ok := p.Take(placement.Class{CPUs: 2}); !ok || node != want {
			t.Errorf("job %d goes to node %d, %v", i, node, ok)
		}
	}
}

func TestReserveWholeNodes(t *testing.T) {
	total := placement.Offer{Slots: 9, Nodes: []placement.FreeNode{{CPUs: 4}, {CPUs: 4}, {CPUs: 4}}}
	free := placement.Offer{Slots: 9, Nodes: []placement.FreeNode{{CPUs: 3, Busy: true}, {CPUs: 2, Busy: true}, {CPUs: 4}}}
	p := placement.NewPacker(free)
	if !p.Reserve(placement.Class{CPUs: 1, Nodes: 2}, total) {
		t.Fatal("not reserved")
	}
	if node, ok := p.Take(placement.Class{CPUs: 1}); !ok || node != 1 {
		t.Errorf("node %d, %v: the idle one and one busy one are reserved", node, ok)
	}
}

func TestReserveReturnsFalse(t *testing.T) {
	free := placement.Offer{Slots: 1, Nodes: []placement.FreeNode{{CPUs: 1, Busy: true}}}
	total := placement.Offer{Slots: 1, Nodes: []placement.FreeNode{{CPUs: 4}}}
	ignoring := total
	ignoring.IgnoreResources = true
	for name, reserved := range map[string]bool{
		"too large":          placement.NewPacker(free).Reserve(placement.Class{CPUs: 5}, total),
		"other labels":       placement.NewPacker(free).Reserve(placement.Class{CPUs: 2, Labels: []string{"gpu"}}, total),
		"other nodes":        placement.NewPacker(placement.Offer{}).Reserve(placement.Class{CPUs: 2}, total),
		"ignoring resources": placement.NewPacker(free).Reserve(placement.Class{CPUs: 2}, ignoring),
	} {
		if reserved {
			t.Errorf("%s: reserved", name)
		}
	}
}

// TestReservedJobFitsInTheEnd checks that, whatever is taken after a reservation, the
// reserved job fits as soon as the jobs that ran before have ended.
func TestReservedJobFitsInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, free := placement.Offer{Slots: 99}, placement.Offer{Slots: 99}
		for range rapid.IntRange(1, 4).Draw(t, "nodes") {
			whole := placement.FreeNode{CPUs: rapid.Int64Range(0, 8).Draw(t, "cpus"), MemoryBytes: rapid.Int64Range(0, 8).Draw(t, "memory")}
			left := placement.FreeNode{CPUs: rapid.Int64Range(0, whole.CPUs).Draw(t, "free_cpus"), MemoryBytes: rapid.Int64Range(0, whole.MemoryBytes).Draw(t, "free_memory")}
			left.Busy = left != whole
			total.Nodes, free.Nodes = append(total.Nodes, whole), append(free.Nodes, left)
		}
		big := placement.Class{CPUs: rapid.Int64Range(1, 8).Draw(t, "c"), MemoryBytes: rapid.Int64Range(1, 8).Draw(t, "m"), Nodes: rapid.Int64Range(1, 3).Draw(t, "n")}
		p := placement.NewPacker(free)
		could, _ := placement.NewPacker(total).Fits(big)
		if p.Reserve(big, total) != could {
			t.Fatalf("could be reserved: %v", could)
		}
		taken := make([]placement.FreeNode, len(total.Nodes))
		for range rapid.IntRange(0, 10).Draw(t, "jobs") {
			c := placement.Class{CPUs: rapid.Int64Range(1, 3).Draw(t, "c"), MemoryBytes: rapid.Int64Range(1, 3).Draw(t, "m")}
			if node, ok := p.Take(c); ok {
				taken[node].CPUs += c.CPUs
				taken[node].MemoryBytes += c.MemoryBytes
			}
		}
		rest := placement.Offer{Slots: 1} // when what ran before has ended
		for i, n := range total.Nodes {
			rest.Nodes = append(rest.Nodes, placement.FreeNode{CPUs: n.CPUs - taken[i].CPUs, MemoryBytes: n.MemoryBytes - taken[i].MemoryBytes, Busy: taken[i].CPUs > 0})
		}
		if fits, why := placement.NewPacker(rest).Fits(big); could && !fits {
			t.Fatalf("%+v does not fit %+v: %s", big, rest.Nodes, why)
		}
	})
}
