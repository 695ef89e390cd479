package slurm

import (
	"context"
	"strings"
)

// NodeRecord has the data of a node that sinfo does not print.
type NodeRecord struct {
	Name    string
	Address string // by which Slurm reaches it: a name or an IP address; empty if unknown
	// What is reserved for Slurm's daemon and the system (CoreSpecCount,
	// CPUSpecList, MemSpecLimit): jobs do not get it, although sinfo counts it.
	ReservedCPUs   int
	ReservedMemory int64 // bytes
}

// Reserves reports whether the node has reserved CPUs or memory.
func (n *NodeRecord) Reserves() bool { return n.ReservedCPUs > 0 || n.ReservedMemory > 0 }

// NodeRecords returns the records of all nodes.
func (c *Client) NodeRecords(ctx context.Context) ([]NodeRecord, error) {
	out, err := c.ask(ctx, Scontrol, "--local", "--all", "--oneliner", "show", "node")
	if err != nil {
		return nil, err
	}
	return parseNodeRecords(string(out.Stdout))
}

func parseNodeRecords(text string) ([]NodeRecord, error) {
	var all []NodeRecord
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		kv := parseKeyValues(line)
		var r reader
		node := NodeRecord{
			Name: kv["NodeName"], Address: null(kv["NodeAddr"]),
			ReservedCPUs: int(r.specialized(kv)), ReservedMemory: r.optional(kv["MemSpecLimit"]) * MiB,
		}
		if r.err != nil || node.Name == "" {
			return nil, garbled(Scontrol, "the answer does not describe nodes")
		}
		all = append(all, node)
	}
	return all, nil
}

// specialized returns how many CPUs of a node no job gets. Since 22.05 Slurm says how
// many CPUs are left, before that how many cores are reserved.
func (r *reader) specialized(kv keyValues) int64 {
	if left := r.optional(kv["CPUEfctv"]); left > 0 {
		return max(0, r.optional(kv["CPUTot"])-left)
	}
	return r.optional(kv["CoreSpecCount"]) * max(1, r.optional(kv["ThreadsPerCore"]))
}

// optional parses a number; 0 if there is none.
func (r *reader) optional(text string) int64 {
	if null(text) == "" {
		return 0
	}
	return r.number(text)
}

// WithoutReserved subtracts reserved CPUs and memory from groups of nodes: in each group
// the largest reservation of a node.
func WithoutReserved(groups []NodeGroup, records []NodeRecord) ([]NodeGroup, error) {
	kept := map[string]NodeRecord{}
	for _, n := range records {
		if n.Reserves() {
			kept[n.Name] = n
		}
	}
	if len(kept) == 0 {
		return groups, nil
	}
	out := make([]NodeGroup, len(groups))
	for i, g := range groups {
		nodes, err := ExpandNodes(g.Nodes)
		if err != nil {
			return nil, err
		}
		var cpus int
		var memory int64
		for _, name := range nodes {
			cpus, memory = max(cpus, kept[name].ReservedCPUs), max(memory, kept[name].ReservedMemory)
		}
		g.CPUs, g.Memory = max(0, g.CPUs-cpus), max(0, g.Memory-memory)
		out[i] = g
	}
	return out, nil
}
