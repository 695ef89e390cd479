package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// walltime returns the walltime of the allocations of a group.
func (g *generator) walltime(x *group) time.Duration {
	if g.options.Walltime > 0 {
		return g.options.Walltime
	}
	limit := x.choice.Partition.MaxWalltime
	if account := g.site.Account(g.options.Account); account.MaxWalltime > 0 && (limit == 0 || account.MaxWalltime < limit) {
		limit = account.MaxWalltime
	}
	longest, needed := time.Duration(0), time.Duration(0)
	for _, c := range x.classes {
		longest, needed = max(longest, c.runtime), max(needed, c.need.Walltime)
	}
	switch {
	case limit == 0: // a walltime is required
		limit = 365 * 24 * time.Hour
	case g.options.Strategy == MaxPartitionTime:
		return limit
	}
	if longest == 0 {
		return limit
	}
	// A float64 represents whole seconds exactly here.
	reserve := time.Duration(math.Ceil(float64(longest/time.Second)*g.options.Multiplier)) * time.Second
	minutes := (max(reserve, needed) + time.Minute - 1).Truncate(time.Minute)
	return min(minutes, limit)
}

// waveLoad is the load of the jobs of a level on the nodes of a group.
type waveLoad struct {
	level int32
	jobs  []int
	// share is how many allocations they keep busy for the whole walltime.
	share              float64
	cpus, memory, gpus int64 // if all of them run at once, unless some can run one after the other
}

// allocations returns how many to request.
func (l *waveLoad) allocations() int64 {
	const rounding = 1e-9
	return max(1, int64(math.Ceil(l.share-rounding)))
}

// loads adds up the jobs of a group, level by level.
func (g *generator) loads(x *group, work []Work, walltime time.Duration) []waveLoad {
	var loads []waveLoad
	counts := make(map[int32]map[string]int64)
	for _, i := range x.jobs {
		level := work[i].Level
		at := slices.IndexFunc(loads, func(l waveLoad) bool { return l.level == level })
		if at < 0 {
			at = len(loads)
			loads = append(loads, waveLoad{level: level})
			counts[level] = make(map[string]int64)
		}
		loads[at].jobs = append(loads[at].jobs, i)
		counts[level][work[i].Requirements.Name]++
	}
	slices.SortFunc(loads, func(a, b waveLoad) int { return int(a.level - b.level) })
	for i := range loads {
		l := &loads[i]
		for name, n := range counts[l.level] {
			c := x.classes[name]
			slots := int64(1)
			if c.runtime > 0 {
				slots = max(1, int64(g.options.Margins.Usable(walltime)/c.runtime))
			}
			atOnce := perNode(&c.need, x.key.node)
			l.share += float64(n) / float64(atOnce*slots)
			wide := min(atOnce, (n+slots-1)/slots)
			l.cpus += wide * c.need.CPUs
			l.memory += wide * c.need.MemoryMB
			l.gpus += wide * c.need.GPUs
		}
	}
	return loads
}

// perNode returns how many jobs a node runs at once. A job of several nodes uses whole
// nodes.
func perNode(need *siteconfigs.Need, node siteconfigs.NodeType) int64 {
	if need.Nodes > 1 {
		return 1
	}
	n := int64(math.MaxInt64)
	for _, x := range [][2]int64{{node.CPUs, need.CPUs}, {node.MemoryMB, need.MemoryMB}, {node.GPUs, need.GPUs}} {
		if x[1] > 0 {
			n = min(n, x[0]/x[1])
		}
	}
	if n == math.MaxInt64 { // it needs nothing
		return 1
	}
	return max(1, n)
}

// nodePart is what is requested of a node.
type nodePart struct{ cpus, memoryMB, gpus int64 }

// shape returns what an allocation of a group requests on each node: the part that
// its jobs use, if nodes are shared and one allocation is enough, otherwise everything.
func (x *group) shape(loads []waveLoad) nodePart {
	node := x.key.node
	whole := nodePart{node.CPUs, node.MemoryMB, node.GPUs}
	if !x.usesGPUs() {
		whole.gpus = 0
	}
	var used nodePart
	for i := range loads {
		l := &loads[i]
		if !x.choice.Partition.Shared || x.key.nodes > 1 || l.allocations() > 1 {
			return whole
		}
		used.cpus, used.memoryMB, used.gpus = max(used.cpus, l.cpus), max(used.memoryMB, l.memory), max(used.gpus, l.gpus)
	}
	cpus := min(max(1, used.cpus), whole.cpus)
	// The runner needs some memory. Memory is also proportional to the CPUs, since the
	// needs of jobs without requirements are not known.
	memory := max(used.memoryMB+runnerMemory/slurm.MiB, whole.memoryMB*cpus/max(1, whole.cpus))
	memory = min(memory, whole.memoryMB)
	if m := x.choice.Partition.MaxMemPerCPUMB; m > 0 {
		cpus = min(max(cpus, (memory+m-1)/m), whole.cpus)
	}
	return nodePart{cpus, memory, min(used.gpus, whole.gpus)}
}

func (x *group) usesGPUs() bool {
	for _, c := range x.classes {
		if c.need.GPUs > 0 {
			return true
		}
	}
	return false
}
