package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// clusterOf returns a cluster of the partition std with nodes of four CPUs, of which the
// numbers are free.
func clusterOf(free ...int64) *forecast.Cluster {
	c := &forecast.Cluster{At: noon}
	for i, n := range free {
		c.Nodes = append(c.Nodes, forecast.Node{
			Name: fmt.Sprintf("n%d", i+1), Partitions: []string{"std"}, Usable: true,
			Whole: placement.FreeNode{CPUs: 4, MemoryBytes: 8 * gib}, Free: placement.FreeNode{CPUs: n, MemoryBytes: n * 2 * gib},
		})
	}
	return c
}

// sweep returns jobs of one CPU and five minutes, and the partition std for them.
func sweep(jobs int64, cluster *forecast.Cluster) Snapshot {
	return Snapshot{
		Now: noon, Forecast: &forecast.Forecast{Cluster: cluster},
		Demand:  []Demand{{Class: placement.Class{ID: 1, CPUs: 1, MemoryBytes: gib, RuntimeSeconds: 300}, Pools: []string{"partition std"}, Ready: jobs, Since: noon}},
		Pools:   []Pool{{Name: "partition std", ActionID: 1, Node: Resources{CPUs: 4, MemoryBytes: 8*gib - runnerMemory}, Shared: true, MaxNodes: 4, MaxWalltime: 24 * time.Hour, Place: forecast.Place{Partitions: []string{"std"}}}},
		Actions: []AutoSchedule{{ActionID: 1}},
	}
}

func TestIdleNodesAreUsed(t *testing.T) {
	for _, c := range [][]int64{{4, 4, 4, 4}, {4, 4, 0, 0}, {4, 4, 2, 2}, {0, 0, 0, 0}} {
		start := time.Now()
		d := Plan(sweep(40, clusterOf(c...)))
		t.Log(c, time.Since(start))
		for _, a := range d.Actions {
			t.Log(a.Kind, a.Count, a.Reason)
		}
		for _, c := range d.Choices {
			t.Log("   ", c.Line())
		}
		t.Logf("%+v", d.Coverage)
	}
}
