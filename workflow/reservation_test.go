package workflow_test

import (
	"testing"

	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestReserve(t *testing.T) {
	total := Offer{Slots: 9, Nodes: []OfferNode{{CPUs: 4}, {CPUs: 8}, {CPUs: 8}}}
	free := Offer{Slots: 9, Nodes: []OfferNode{{CPUs: 4}, {CPUs: 2, Busy: true}, {CPUs: 5, Busy: true}}}
	p := NewPacker(free)
	if !p.Reserve(Class{CPUs: 6}, total) {
		t.Fatal("not reserved")
	}
	if ok, why := p.Fits(Class{CPUs: 5}); ok {
		t.Error("the reserved room is given away")
	} else if why.Available != 4 {
		t.Errorf("%d CPUs are left on the largest node", why.Available)
	}
	for i, want := range []int{1, 2, 0} { // beside the reserved room is place for two CPUs
		if node, ok := p.Take(Class{CPUs: 2}); !ok || node != want {
			t.Errorf("job %d goes to node %d, %v", i, node, ok)
		}
	}
}

func TestReserveWholeNodes(t *testing.T) {
	total := Offer{Slots: 9, Nodes: []OfferNode{{CPUs: 4}, {CPUs: 4}, {CPUs: 4}}}
	free := Offer{Slots: 9, Nodes: []OfferNode{{CPUs: 3, Busy: true}, {CPUs: 2, Busy: true}, {CPUs: 4}}}
	p := NewPacker(free)
	if !p.Reserve(Class{CPUs: 1, Nodes: 2}, total) {
		t.Fatal("not reserved")
	}
	if node, ok := p.Take(Class{CPUs: 1}); !ok || node != 1 {
		t.Errorf("node %d, %v: the idle one and one busy one are reserved", node, ok)
	}
}

func TestReserveRefuses(t *testing.T) {
	free := Offer{Slots: 1, Nodes: []OfferNode{{CPUs: 1, Busy: true}}}
	total := Offer{Slots: 1, Nodes: []OfferNode{{CPUs: 4}}}
	ignoring := total
	ignoring.IgnoreResources = true
	for name, reserved := range map[string]bool{
		"too large":          NewPacker(free).Reserve(Class{CPUs: 5}, total),
		"other labels":       NewPacker(free).Reserve(Class{CPUs: 2, Labels: []string{"gpu"}}, total),
		"other nodes":        NewPacker(Offer{}).Reserve(Class{CPUs: 2}, total),
		"ignoring resources": NewPacker(free).Reserve(Class{CPUs: 2}, ignoring),
	} {
		if reserved {
			t.Errorf("%s: reserved", name)
		}
	}
}

// Whatever is taken after a reservation: once what ran before has ended, the
// job fits beside all of it.
func TestReservedJobFitsInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, free := Offer{Slots: 99}, Offer{Slots: 99}
		for range rapid.IntRange(1, 4).Draw(t, "nodes") {
			whole := OfferNode{CPUs: rapid.Int64Range(0, 8).Draw(t, "cpus"), MemoryBytes: rapid.Int64Range(0, 8).Draw(t, "memory")}
			left := OfferNode{CPUs: rapid.Int64Range(0, whole.CPUs).Draw(t, "free_cpus"), MemoryBytes: rapid.Int64Range(0, whole.MemoryBytes).Draw(t, "free_memory")}
			left.Busy = left != whole
			total.Nodes, free.Nodes = append(total.Nodes, whole), append(free.Nodes, left)
		}
		big := Class{CPUs: rapid.Int64Range(1, 8).Draw(t, "c"), MemoryBytes: rapid.Int64Range(1, 8).Draw(t, "m"), Nodes: rapid.Int64Range(1, 3).Draw(t, "n")}
		p := NewPacker(free)
		could, _ := NewPacker(total).Fits(big)
		if p.Reserve(big, total) != could {
			t.Fatalf("could be reserved: %v", could)
		}
		taken := make([]OfferNode, len(total.Nodes))
		for range rapid.IntRange(0, 10).Draw(t, "jobs") {
			c := Class{CPUs: rapid.Int64Range(1, 3).Draw(t, "c"), MemoryBytes: rapid.Int64Range(1, 3).Draw(t, "m")}
			if node, ok := p.Take(c); ok {
				taken[node].CPUs += c.CPUs
				taken[node].MemoryBytes += c.MemoryBytes
			}
		}
		rest := Offer{Slots: 1} // when what ran before has ended
		for i, n := range total.Nodes {
			rest.Nodes = append(rest.Nodes, OfferNode{CPUs: n.CPUs - taken[i].CPUs, MemoryBytes: n.MemoryBytes - taken[i].MemoryBytes, Busy: taken[i].CPUs > 0})
		}
		if fits, why := NewPacker(rest).Fits(big); could && !fits {
			t.Fatalf("%+v does not fit %+v: %s", big, rest.Nodes, why)
		}
	})
}
