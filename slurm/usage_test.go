package slurm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUsage(t *testing.T) {
	id := func(n int64) JobID { return JobID{Number: n} }
	of := func(n int64, nodes, cpus int, elapsed time.Duration) Record {
		return Record{ID: StepID{Job: id(n)}, NodeList: "n1", Nodes: nodes, CPUs: cpus, Elapsed: elapsed}
	}
	step := of(1, 1, 1, time.Hour)
	step.ID.Step = "batch"
	never := of(3, 0, 0, 0)
	never.NodeList = ""
	records := Accounting{Records: []Record{of(1, 2, 8, time.Minute), step, of(1, 1, 4, time.Minute), of(2, 0, 4, time.Second), never}}
	got := records.Usage([]JobID{id(1), id(2), id(3), id(4)})
	want := Usage{Nodes: 2, NodeTime: 3 * time.Minute, CPUTime: 12*time.Minute + 4*time.Second, UnknownNodes: 1, Missing: []JobID{id(4)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
