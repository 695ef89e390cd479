package slurm

import (
	"context"
	"strings"
	"time"
)

// NodeGroup is a set of nodes of one partition that are alike and in the same
// state. A node that is in two partitions is in a group of each.
type NodeGroup struct {
	Partition string
	Available string        // state of the partition: up, down, drain, inact
	MaxTime   time.Duration // of a job in the partition; Unlimited if there is no limit
	State     string        // idle, mixed, allocated, down, drained, …; lower case, without flags
	Flags     string        // what sinfo appends: "*" not responding, "~" powered down, "$" reserved, …
	Count     int
	CPUs      int   // per node
	Sockets   int   // per node
	Cores     int   // per socket
	Threads   int   // per core
	Memory    int64 // bytes per node that jobs may use
	TmpDisk   int64 // bytes per node
	GRES      []GRES
	Features  []string
	Reason    string // why it is down or drained
	Nodes     string // see ExpandNodes
}

// Usable reports whether jobs can run there now, or when other jobs have ended.
func (g NodeGroup) Usable() bool {
	switch g.State {
	case "idle", "mixed", "allocated", "completing", "planned", "reserved":
		return !strings.Contains(g.Flags, "*")
	}
	return false
}

var nodeFields = []struct {
	format string
	set    func(*NodeGroup, *reader, string)
}{
	{"%R", func(g *NodeGroup, _ *reader, v string) { g.Partition = v }},
	{"%a", func(g *NodeGroup, _ *reader, v string) { g.Available = v }},
	{"%l", func(g *NodeGroup, r *reader, v string) { g.MaxTime = parsed(r, ParseDuration, v) }},
	{"%T", func(g *NodeGroup, _ *reader, v string) { g.State, g.Flags = nodeState(v) }},
	{"%D", func(g *NodeGroup, r *reader, v string) { g.Count = int(r.count(v)) }},
	{"%c", func(g *NodeGroup, r *reader, v string) { g.CPUs = int(r.count(v)) }},
	{"%X", func(g *NodeGroup, r *reader, v string) { g.Sockets = int(r.count(v)) }},
	{"%Y", func(g *NodeGroup, r *reader, v string) { g.Cores = int(r.count(v)) }},
	{"%Z", func(g *NodeGroup, r *reader, v string) { g.Threads = int(r.count(v)) }},
	{"%m", func(g *NodeGroup, r *reader, v string) { g.Memory = r.count(v) * MiB }},
	{"%d", func(g *NodeGroup, r *reader, v string) { g.TmpDisk = r.count(v) * MiB }},
	{"%G", func(g *NodeGroup, r *reader, v string) { g.GRES = parsed(r, ParseGRES, v) }},
	{"%f", func(g *NodeGroup, _ *reader, v string) { g.Features = listOf(v) }},
	{"%E", func(g *NodeGroup, _ *reader, v string) { g.Reason = noneIsEmpty(v) }},
	{"%N", func(g *NodeGroup, _ *reader, v string) { g.Nodes = v }},
}

var nodeFormat = func() string {
	formats := make([]string, len(nodeFields))
	for i, f := range nodeFields {
		formats[i] = f.format
	}
	return strings.Join(formats, fieldSeparator)
}()

// Nodes returns all nodes, in groups of nodes that are alike.
func (c *Client) Nodes(ctx context.Context) ([]NodeGroup, error) {
	out, err := c.ask(ctx, Sinfo, "--local", "--exact", "--format="+nodeFormat)
	if err != nil {
		return nil, err
	}
	return parseNodes(out.Stdout)
}

func parseNodes(out []byte) ([]NodeGroup, error) {
	t, err := parseTable(Sinfo, out, len(nodeFields))
	if err != nil {
		return nil, err
	}
	groups := make([]NodeGroup, 0, len(t.rows))
	for _, row := range t.rows {
		var g NodeGroup
		var r reader
		for i, f := range nodeFields {
			f.set(&g, &r, row[i])
		}
		if r.err != nil || g.Partition == "" {
			return nil, garbled(Sinfo, "the answer does not describe nodes")
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// nodeState separates the flags: "down*" is down, and does not respond.
func nodeState(text string) (state, flags string) {
	state = strings.TrimRight(text, "*~#!%$@^-+")
	return strings.ToLower(state), text[len(state):]
}

// count parses a number that sinfo marks with "+" where nodes differ; it is then the
// smallest.
func (r *reader) count(text string) int64 {
	return r.number(strings.TrimSuffix(text, "+"))
}

func noneIsEmpty(text string) string {
	if strings.EqualFold(text, "none") {
		return ""
	}
	return null(text)
}
