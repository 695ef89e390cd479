package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/slurm"
)

func TestLoads(t *testing.T) {
	got := Loads([]slurm.NodeGroup{
		{Partition: "debug", State: "idle", Count: 2}, {Partition: "debug", State: "mixed", Count: 1}, {Partition: "debug", State: "allocated", Count: 3},
		{Partition: "debug", State: "down", Count: 1}, {Partition: "long", State: "idle", Count: 1},
	}, []slurm.Job{
		{Partition: "debug,long", State: slurm.Pending, Nodes: 4}, {Partition: "debug", State: slurm.Pending}, {Partition: "long", State: slurm.Running, Nodes: 1},
	})
	want := map[string]PartitionLoad{
		"debug": {Idle: 2, Mixed: 1, Allocated: 3, Down: 1, Total: 7, PendingJobs: 2, PendingNodes: 5},
		"long":  {Idle: 1, Total: 1, RunningJobs: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWidth(t *testing.T) {
	for _, tc := range []struct {
		levels          []int32
		steps, most, at int
	}{
		{nil, 0, 0, 0},
		{[]int32{0, 0, 1}, 2, 2, 0},
		{[]int32{0, 1, 1, 2, 2}, 3, 2, 1},
	} {
		var work []Work
		for _, level := range tc.levels {
			work = append(work, Work{Level: level})
		}
		if steps, most, at := Width(work); steps != tc.steps || most != tc.most || at != tc.at {
			t.Errorf("%v: %d steps, %d jobs in step %d", tc.levels, steps, most, at)
		}
	}
}
