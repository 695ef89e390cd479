package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Before 22.05 Slurm did not print how many CPUs are left.
func TestReservedCores(t *testing.T) {
	const old = "NodeName=n7 CPUAlloc=0 CPUTot=8 RealMemory=4000 Sockets=2 ThreadsPerCore=2 CoreSpecCount=2 CPUSpecList=3,7 MemSpecLimit=300 Reason=a b [root@2026]\n" +
		"NodeName=n8 NodeAddr=10.0.0.8 CPUAlloc=0 CPUTot=8 ThreadsPerCore=2 RealMemory=4000\n"
	got, err := parseNodeRecords(old)
	if diff := cmp.Diff([]NodeRecord{{Name: "n7", ReservedCPUs: 4, ReservedMemory: 300 * MiB}, {Name: "n8", Address: "10.0.0.8"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := parseNodeRecords("slurm_load_node: something\n"); ClassOf(err) != Unavailable {
		t.Errorf("an invalid answer: %v", err)
	}
}

func TestWithoutReserved(t *testing.T) {
	groups := []NodeGroup{{Partition: "a", Nodes: "n[1-2]", CPUs: 4, Memory: 4000}, {Partition: "a", Nodes: "n3", CPUs: 4, Memory: 100}, {Partition: "a", Nodes: "n4", CPUs: 4, Memory: 4000}}
	got, err := WithoutReserved(groups, []NodeRecord{{Name: "n2", ReservedCPUs: 1, ReservedMemory: 500}, {Name: "n1", ReservedCPUs: 2}, {Name: "n3", ReservedMemory: 500}})
	if err != nil {
		t.Fatal(err)
	}
	want := []NodeGroup{{Partition: "a", Nodes: "n[1-2]", CPUs: 2, Memory: 3500}, {Partition: "a", Nodes: "n3", CPUs: 4, Memory: 0}, groups[2]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if groups[0].CPUs != 4 {
		t.Error("the groups of the caller were changed")
	}
	if _, err := WithoutReserved([]NodeGroup{{Nodes: "n[1-"}}, []NodeRecord{{Name: "n1", ReservedCPUs: 1}}); err == nil {
		t.Error("no error for a list that cannot be parsed")
	}
}
