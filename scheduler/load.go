package scheduler

import (
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Loads says how busy partitions are, by their names: by the nodes that Slurm lists and
// the jobs in its queue. A job that names several partitions counts for the first.
func Loads(nodes []slurm.NodeGroup, queue []slurm.Job) map[string]PartitionLoad {
	loads := make(map[string]PartitionLoad)
	for _, g := range nodes {
		l, n := loads[g.Partition], int64(g.Count)
		l.Total += n
		switch {
		case !g.Usable():
			l.Down += n
		case g.State == "idle":
			l.Idle += n
		case g.State == "mixed":
			l.Mixed += n
		default:
			l.Allocated += n
		}
		loads[g.Partition] = l
	}
	for _, job := range queue {
		name, _, _ := strings.Cut(job.Partition, ",")
		l := loads[name]
		switch {
		case job.State.Pending():
			l.PendingJobs++
			l.PendingNodes += int64(max(job.Nodes, 1))
		case job.State.Active():
			l.RunningJobs++
		}
		loads[name] = l
	}
	return loads
}

// Width says how many steps work has one after another, the most jobs that one of them
// has, and the first step that has so many.
func Width(work []Work) (steps, most, at int) {
	jobs := make(map[int]int) // by step
	for i := range work {
		step := int(work[i].Level)
		jobs[step]++
		steps = max(steps, step+1)
	}
	for step := range steps {
		if jobs[step] > most {
			most, at = jobs[step], step
		}
	}
	return steps, most, at
}
