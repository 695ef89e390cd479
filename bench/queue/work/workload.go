package work

import (
	"fmt"
	"math/rand/v2"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

const (
	minute = 60
	gib    = 1 << 30
)

// Workload is a workflow.
type Workload struct {
	Name, About string
	Partition   string // where it runs
	Classes     []placement.Class
	Jobs        []Job
	Width       int64 // how many of its jobs are ready at a time, at most
	Depth       int64 // of its longest chain
}

// Job is a job of a workflow.
type Job struct {
	Class   int
	Runtime int64 // how long it really runs, in seconds
	After   int   // the job that it waits for; -1: none
	Fails   int   // so many attempts fail before one succeeds
}

// recipe makes a workload.
type recipe struct {
	name, about, partition string
	class                  placement.Class // without the declared runtime
	runtime                int64           // of the longest job
	jobs, depth            int
	failures               float64 // part of the attempts that fail
}

var recipes = []recipe{
	{name: "forty", about: "40 × 5 min, 1 CPU, in shared nodes", partition: "shared",
		class: placement.Class{CPUs: 1, MemoryBytes: 2 * gib, Nodes: 1}, runtime: 5 * minute, jobs: 40, depth: 1},
	{name: "forty-wide", about: "40 × 5 min, 16 CPUs, in whole nodes", partition: "batch",
		class: placement.Class{CPUs: 16, MemoryBytes: 32 * gib, Nodes: 1}, runtime: 5 * minute, jobs: 40, depth: 1},
	{name: "minutes", about: "10,000 × 1 min, 1 CPU, in whole nodes", partition: "batch",
		class: placement.Class{CPUs: 1, MemoryBytes: gib, Nodes: 1}, runtime: minute, jobs: 10_000, depth: 1},
	{name: "chains", about: "100 chains of 20 stages of 3 min, 1 CPU, in shared nodes", partition: "shared",
		class: placement.Class{CPUs: 1, MemoryBytes: 2 * gib, Nodes: 1}, runtime: 3 * minute, jobs: 2000, depth: 20},
	{name: "gpus", about: "60 × 20 min, 1 GPU and 8 CPUs", partition: "gpu",
		class: placement.Class{CPUs: 8, MemoryBytes: 32 * gib, GPUs: 1, Nodes: 1}, runtime: 20 * minute, jobs: 60, depth: 1},
	{name: "nodes", about: "12 × 30 min on 8 whole nodes each", partition: "batch",
		class: placement.Class{CPUs: 64, MemoryBytes: 64 * gib, Nodes: 8}, runtime: 30 * minute, jobs: 12, depth: 1},
	{name: "retries", about: "200 × 10 min, 4 CPUs, in shared nodes; a fifth of the attempts fail", partition: "shared",
		class: placement.Class{CPUs: 4, MemoryBytes: 8 * gib, Nodes: 1}, runtime: 10 * minute, jobs: 200, depth: 1, failures: 0.2},
}

// Names returns the names of the workloads, each with what it is.
func Names() (names, about []string) {
	for _, r := range recipes {
		names = append(names, r.name)
		about = append(about, r.about)
	}
	return names, about
}

// PartitionOf returns the partition in which a workload runs; empty if there is no such
// workload.
func PartitionOf(name string) string {
	for _, r := range recipes {
		if r.name == name {
			return r.partition
		}
	}
	return ""
}

// New returns a workload whose jobs declare so many times the runtime of the longest of
// them. Real runtimes are between eight tenths and all of that.
func New(name string, declared int64, seed uint64) (*Workload, error) {
	for _, r := range recipes {
		if r.name == name {
			return r.workload(declared, rand.New(rand.NewPCG(seed, 7))), nil
		}
	}
	return nil, fmt.Errorf("no workload %q", name)
}

func (r *recipe) workload(declared int64, random *rand.Rand) *Workload {
	class := r.class
	class.ID, class.RuntimeSeconds = 1, declared*r.runtime
	width := r.jobs / r.depth
	w := &Workload{Name: r.name, About: r.about, Partition: r.partition, Classes: []placement.Class{class}, Width: int64(width), Depth: int64(r.depth)}
	for i := range r.jobs {
		j := Job{Runtime: r.runtime*8/10 + random.Int64N(r.runtime*2/10+1), After: i - width}
		if j.After < 0 {
			j.After = -1
		}
		for random.Float64() < r.failures {
			j.Fails++
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w
}
