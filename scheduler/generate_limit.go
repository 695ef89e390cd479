package scheduler

import "github.com/torc-slurm/torc-slurm/site-configs"

// bounded returns what an allocation with some nodes may use of each, by the limits
// of the account, the QOS and the partition. On a node that is not shared it has
// all CPUs and GPUs, whatever it requests.
func (g *generator) bounded(c *siteconfigs.Choice, nodes int64) siteconfigs.NodeType {
	most := g.site.MaxJob(c.Partition, g.options.Account, "")
	node := c.Node
	cut := func(value *int64, limit int64) {
		if limit > 0 {
			*value = min(*value, limit/nodes)
		}
	}
	cut(&node.MemoryMB, most.MemoryMB)
	if c.Partition.Shared {
		cut(&node.CPUs, most.CPUs)
		cut(&node.GPUs, most.GPUs)
	}
	return node
}

// gather combines several allocations into one of several nodes, as
// large as the limits allow.
func (g *generator) gather(result *Generated, nodes int64, each nodePart) (together int64, workerPerNode bool) {
	wanted := int64(1)
	for i := range result.Waves {
		wanted = max(wanted, result.Waves[i].Allocations)
		result.Waves[i].Allocations = 1
	}
	together = nodes * wanted
	p := g.site.Partition(result.Partition)
	most := g.site.MaxJob(p, g.options.Account, "")
	for _, limit := range []int64{
		p.MaxNodes, p.MaxNodesPerUser, p.TotalNodes, most.Nodes,
		nodesWithin(most.CPUs, each.cpus), nodesWithin(most.MemoryMB, each.memoryMB), nodesWithin(most.GPUs, each.gpus),
	} {
		if limit > 0 {
			together = min(together, limit)
		}
	}
	together = max(nodes, together-together%nodes)
	return together, nodes == 1 && together > 1 && g.options.WorkerPerNode
}

// nodesWithin returns how many nodes stay within a limit of their total; 0 is no limit.
func nodesWithin(limit, each int64) int64 {
	if limit == 0 || each == 0 {
		return 0
	}
	return max(1, limit/each)
}
