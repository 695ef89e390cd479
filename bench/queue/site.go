package main

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/bench/queue/background"
	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/scheduler"
)

const (
	hour = 3600
	day  = 24 * hour
)

// Sizes of the cluster, unless flags say otherwise: 1,000 nodes of 64 CPUs.
const (
	sharedPart = 0.032 // of the nodes
	gpuPart    = 0.032
	longest    = 2 * day // time limit of a job
	mostNodes  = 256     // of a job
)

// site describes the cluster.
type site struct {
	nodes    int
	priority cluster.Priority
	exact    bool                   // users know how long their jobs run
	others   int64                  // so many jobs of others are submitted before the workflow at least
	auto     scheduler.AutoSchedule // the limits of the plans
	log      *background.Log
}

// String returns what the results depend on besides the cell.
func (s *site) String() string {
	text := fmt.Sprintf("%d nodes, priority %+v, exact %t, at most %d allocations, %d a minute", s.nodes, s.priority, s.exact, s.auto.MaxAllocations, s.auto.MaxSubmitPerMinute)
	if s.others > 0 {
		text += fmt.Sprintf(", %d jobs before", s.others)
	}
	if s.log != nil {
		text += ", log " + s.log.Path()
	}
	return text
}

// partition returns a partition of the cluster by its name. They share no nodes, so that a
// simulation needs only those that its workflow uses.
func (s *site) partition(name string) cluster.Partition {
	p := cluster.Partition{Name: name, Node: cluster.Resources{CPUs: 64, MemoryMB: 256 << 10}, Limit: longest}
	shared, gpu := max(int(sharedPart*float64(s.nodes)), 1), max(int(gpuPart*float64(s.nodes)), 1)
	switch name {
	case "batch":
		p.Count, p.Whole, p.MostPer = max(s.nodes-shared-gpu, 1), true, mostNodes
	case "shared":
		p.Count = shared
	case "gpu":
		p.Count, p.Node.GPUs = gpu, 4
	}
	return p
}

// sizes returns what the sizes of a log or of the model mean in a partition: nodes, CPUs of
// one node, or GPUs of one node.
func sizes(p *cluster.Partition) background.Sizes {
	switch {
	case p.Whole:
		return background.Sizes{
			Largest: int(min(background.Largest, int64(p.Count))),
			Request: func(n int64) cluster.Request { return cluster.Request{Nodes: n, Each: p.Node} },
			Work:    func(r *cluster.Request) float64 { return float64(r.Nodes * p.Node.CPUs) },
		}
	case p.Node.GPUs > 0: // a GPU comes with its part of the CPUs and memory
		part := func(n int64) cluster.Resources {
			return cluster.Resources{CPUs: n * p.Node.CPUs / p.Node.GPUs, MemoryMB: n * p.Node.MemoryMB / p.Node.GPUs, GPUs: n}
		}
		return background.Sizes{
			Largest: int(p.Node.GPUs),
			Request: func(n int64) cluster.Request { return cluster.Request{Nodes: 1, Each: part(n)} },
			Work:    func(r *cluster.Request) float64 { return float64(r.Each.CPUs) },
		}
	}
	return background.Sizes{
		Largest: int(p.Node.CPUs),
		Request: func(n int64) cluster.Request {
			return cluster.Request{Nodes: 1, Each: cluster.Resources{CPUs: n, MemoryMB: n * p.Node.MemoryMB / p.Node.CPUs}}
		},
		Work: func(r *cluster.Request) float64 { return float64(r.Each.CPUs) },
	}
}

// users is how many other users the cluster has.
const users = 40

// source returns the jobs of others in a partition; nil if the load is 0.
func (s *site) source(p *cluster.Partition, load float64, seed uint64) cluster.Source {
	if load == 0 {
		return nil
	}
	settings := background.Settings{Sizes: sizes(p), CPUs: p.CPUs(), Load: load, Users: users, Exact: s.exact, MostLimit: p.Limit}
	if s.log != nil {
		return s.log.Replay(settings)
	}
	return background.New(settings, seed)
}

// cluster returns a cluster that has been busy with the jobs of others until a time. history,
// if not nil, is called for each job that started.
func (s *site) cluster(partition string, load float64, seed uint64, until int64, history func(*cluster.Job)) *cluster.Cluster {
	p := s.partition(partition)
	c := cluster.New(cluster.Config{Partitions: []cluster.Partition{p}, Priority: s.priority}, []cluster.Source{s.source(&p, load, seed)})
	c.Watch = history
	c.Run(until, func() bool { return false })
	return c
}
