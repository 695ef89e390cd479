package siteconfigs

import (
	"fmt"
	"maps"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// sameCluster reports whether sinfo shows the same partitions and nodes as the facts, in
// whatever state. If so, the facts are still valid.
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

// update updates the state of nodes and partitions from sinfo.
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

// partitionState returns the state of a partition in the terms of scontrol.
func partitionState(available string) string {
	if strings.HasPrefix(available, "inact") {
		return "INACTIVE"
	}
	return strings.ToUpper(available)
}
