package scheduler

import (
	"testing"
	"time"
)

func TestAdvise(t *testing.T) {
	wait := func(d time.Duration) *time.Duration { return &d }
	for _, tc := range []struct {
		name               string
		ideal              int64
		load               PartitionLoad
		waits              Waits
		allocations, nodes int64
		strategy           string
	}{
		{"one node", 1, PartitionLoad{}, Waits{}, 1, 1, "single"},
		{"nothing is known", 6, PartitionLoad{}, Waits{}, 6, 1, "many-small"},
		{"free", 6, PartitionLoad{Idle: 6, Total: 10}, Waits{}, 1, 6, "single"},
		{"free, but many wait", 6, PartitionLoad{Idle: 6, Total: 10, PendingNodes: 5}, Waits{}, 2, 3, "chunks"},
		{"scarce", 6, PartitionLoad{Idle: 1, Total: 10}, Waits{}, 6, 1, "many-small"},
		{"a long queue", 6, PartitionLoad{Idle: 5, Total: 10, PendingNodes: 21}, Waits{}, 6, 1, "many-small"},
		{"half of them", 20, PartitionLoad{Idle: 10, Total: 20}, Waits{}, 4, 5, "chunks"},
		{"Slurm would start all soon", 6, PartitionLoad{Idle: 0, Total: 10}, Waits{wait(time.Minute), wait(time.Hour)}, 1, 6, "single"},
		{"Slurm would start all late", 6, PartitionLoad{Idle: 0, Total: 10}, Waits{wait(time.Minute), wait(24 * time.Hour)}, 6, 1, "many-small"},
	} {
		got := Advise(tc.ideal, tc.load, time.Hour, tc.waits)
		if got.Allocations != tc.allocations || got.Nodes != tc.nodes || got.Strategy != tc.strategy || got.Reason == "" {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}
