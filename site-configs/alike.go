package siteconfigs

import (
	"fmt"
	"maps"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// sameCluster reports whether sinfo shows the partitions and nodes that the facts have,
// in whatever state they are. If so, nobody has changed the cluster in a way that
// matters to what is asked for there.
func (f *Facts) sameCluster(nodes []slurm.NodeGroup) bool {
	return maps.Equal(shapes(f.Nodes), shapes(nodes))
}

// shapes counts the nodes of each kind.
func shapes(groups []slurm.NodeGroup) map[string]int {
	counts := map[string]int{}
	for _, g := range groups {
		kind := fmt.Sprintln(g.Partition, g.MaxTime, g.CPUs, g.Sockets, g.Cores, g.Threads, g.Memory, g.GRES, g.Features)
		counts[kind] += g.Count
	}
	return counts
}

// update takes the state of nodes and partitions from sinfo.
func (f *Facts) update(nodes []slurm.NodeGroup) {
	f.Nodes = nodes
	for i := range f.Partitions {
		p := &f.Partitions[i]
		for _, g := range nodes {
			if g.Partition == p.Name {
				p.State = partitionState(g.Available)
			}
		}
	}
}

// partitionState is what scontrol calls what sinfo says of a partition.
func partitionState(available string) string {
	if strings.HasPrefix(available, "inact") {
		return "INACTIVE"
	}
	return strings.ToUpper(available)
}
