package slurm

import (
	"context"
	"strings"
)

// Reserved is what a node keeps for Slurm's daemon and the system: jobs do not
// get it, though sinfo counts it.
type Reserved struct {
	Node   string
	CPUs   int
	Memory int64 // bytes
}

// Reserved asks which nodes keep something for themselves (CoreSpecCount,
// CPUSpecList, MemSpecLimit).
func (c *Client) Reserved(ctx context.Context) ([]Reserved, error) {
	out, err := c.ask(ctx, Scontrol, "--local", "--all", "--oneliner", "show", "node")
	if err != nil {
		return nil, err
	}
	return parseReserved(string(out.Stdout))
}

func parseReserved(text string) ([]Reserved, error) {
	var all []Reserved
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		kv := parseKeyValues(line)
		var r reader
		node := Reserved{Node: kv["NodeName"], CPUs: int(r.specialized(kv)), Memory: r.optional(kv["MemSpecLimit"]) * MiB}
		if r.err != nil || node.Node == "" {
			return nil, garbled(Scontrol, "the answer does not describe nodes")
		}
		if node.CPUs > 0 || node.Memory > 0 {
			all = append(all, node)
		}
	}
	return all, nil
}

// specialized is how many CPUs of a node no job gets. Slurm says how many are
// left since 22.05, before that how many cores are kept.
func (r *reader) specialized(kv keyValues) int64 {
	if left := r.optional(kv["CPUEfctv"]); left > 0 {
		return max(0, r.optional(kv["CPUTot"])-left)
	}
	return r.optional(kv["CoreSpecCount"]) * max(1, r.optional(kv["ThreadsPerCore"]))
}

// optional reads a number, 0 where there is none.
func (r *reader) optional(text string) int64 {
	if null(text) == "" {
		return 0
	}
	return r.number(text)
}

// WithoutReserved takes what nodes keep for themselves off their groups: of each group, what
// the node keeps that keeps most.
func WithoutReserved(groups []NodeGroup, reserved []Reserved) ([]NodeGroup, error) {
	if len(reserved) == 0 {
		return groups, nil
	}
	kept := make(map[string]Reserved, len(reserved))
	for _, r := range reserved {
		kept[r.Node] = r
	}
	out := make([]NodeGroup, len(groups))
	for i, g := range groups {
		nodes, err := ExpandNodes(g.Nodes)
		if err != nil {
			return nil, err
		}
		var most Reserved
		for _, name := range nodes {
			most.CPUs, most.Memory = max(most.CPUs, kept[name].CPUs), max(most.Memory, kept[name].Memory)
		}
		g.CPUs, g.Memory = max(0, g.CPUs-most.CPUs), max(0, g.Memory-most.Memory)
		out[i] = g
	}
	return out, nil
}
