package main

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/bench/queue/work"
	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// What the planner is told of a cluster is what is free there, node by node.
func TestClusterFacts(t *testing.T) {
	for _, partition := range []string{"batch", "shared", "gpu"} {
		s := newStart(&site{nodes: 300}, partition, 80, 2)
		f := clusterOf(s.cluster)
		p := s.cluster.Partition(0)
		if len(f.Nodes) != p.Count || !f.At.Equal(at(s.cluster.Now())) {
			t.Fatalf("%s: %d nodes at %s", partition, len(f.Nodes), f.At)
		}
		used := int64(0)
		for i := range f.Nodes {
			n := &f.Nodes[i]
			used += n.Whole.CPUs - n.Free.CPUs
			if n.Whole != freeNode(p.Node) || !n.Usable || n.Planned && !n.Idle() {
				t.Errorf("%s: %+v", partition, n)
			}
		}
		want := int64(0)
		for _, j := range s.cluster.Running(0) {
			want += j.CPUs(&p)
		}
		if used != want || used == 0 {
			t.Errorf("%s: %d CPUs are used, running jobs have %d", partition, used, want)
		}
		if n := len(s.past); n < historySize || n >= 2*historySize {
			t.Errorf("%s: %d earlier jobs", partition, n)
		}
	}
}

// Idle nodes are planned for the jobs of the queue that wait for more of them.
func TestPlannedNodes(t *testing.T) {
	s := site{nodes: 100}
	p := s.partition("batch")
	p.Count = 10
	c := cluster.New(cluster.Config{Partitions: []cluster.Partition{p}}, nil)
	request := cluster.Request{Partitions: []int{0}, Nodes: 7, Limit: 1000, Each: p.Node}
	for range 2 {
		if _, err := c.Submit(request, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	c.Run(10, func() bool { return false })
	c.Expect(0)
	idle, planned := 0, 0
	for _, n := range clusterOf(c).Nodes {
		if n.Idle() {
			idle++
		}
		if n.Planned {
			planned++
		}
	}
	if idle != 3 || planned != 3 {
		t.Errorf("%d idle, %d planned", idle, planned)
	}
}

// Waits of the allocations are remembered once they start, and when they are canceled.
func TestFactsRememberWaits(t *testing.T) {
	s := newStart(&site{nodes: 300}, "batch", 0, 1)
	trial, err := s.trial(cell{0, "forty-wide", 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := newFacts(trial)
	shape := work.Shape{Nodes: 2, Walltime: 600}
	shape.Node = freeNode(trial.cluster.Partition(0).Node)
	a, err := trial.fleet.Request(shape)
	if err != nil {
		t.Fatal(err)
	}
	f.noteStarted()
	if len(f.past) != 0 {
		t.Errorf("a pending one is remembered: %+v", f.past)
	}
	trial.cluster.Run(trial.cluster.Now()+20, func() bool { return false })
	f.noteStarted()
	f.noteStarted()
	f.remember(a, a.Asked+90, true)
	want := forecast.Past{Partition: "batch", Nodes: 2, CPUs: 128, Walltime: 10 * time.Minute, Asked: at(a.Asked)}
	canceled := want
	canceled.Waited, canceled.NotStarted = 90*time.Second, true
	if len(f.past) != 2 || f.past[0] != want || f.past[1] != canceled {
		t.Errorf("%+v", f.past)
	}
}
