package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NodeLoad is one node, and how much of it jobs use.
type NodeLoad struct {
	Name string
	// Partitions are those of the node that are up, in alphabetical order.
	Partitions []string
	State      string // idle, mixed, allocated, down, drained, planned, …; lower case, without flags
	Flags      string // what sinfo appends: "*" not responding, "~" powered down, "$" maintenance, "-" planned, …
	CPUs       int    // all of them, see WithoutReservedLoad
	// AllocatedCPUs are those of jobs, IdleCPUs those that a job can get now. The rest
	// is on a node that is down or drained.
	AllocatedCPUs, IdleCPUs int
	Memory                  int64 // bytes; 0: not known
	AllocatedMemory         int64 // bytes
	GPUs, AllocatedGPUs     int64
	Features                []string // available ones
}

// NodeLoads is one answer of sinfo about each node.
type NodeLoads struct {
	At      time.Time // when sinfo was called
	Nodes   []NodeLoad
	Skipped int // rows that could not be parsed: their nodes are unknown
}

// Usable reports whether jobs can run on the node now, or when other jobs have ended. A
// node that is powered down is usable: Slurm powers it up for a job.
func (n *NodeLoad) Usable() bool {
	// not responding, powering down, will be powered down, reboots, will be rebooted
	if strings.ContainsAny(n.Flags, "*%!^@") {
		return false
	}
	switch n.State {
	case "idle", "mixed", "allocated", "completing", "planned", "reserved", "maint", "powered_down", "powering_up":
		return true
	}
	return false
}

// Planned reports whether the backfill scheduler keeps the node for a pending job.
func (n *NodeLoad) Planned() bool { return n.State == "planned" || strings.Contains(n.Flags, "-") }

// Reserved reports whether a reservation has the node now.
func (n *NodeLoad) Reserved() bool { return n.State == "reserved" }

// Maintenance reports whether a reservation for maintenance has the node now.
func (n *NodeLoad) Maintenance() bool { return n.State == "maint" || strings.Contains(n.Flags, "$") }

// FreeCPUs returns how many CPUs a job could get now; 0 if the node is not usable.
func (n *NodeLoad) FreeCPUs() int {
	if !n.Usable() {
		return 0
	}
	return max(0, min(n.IdleCPUs, n.CPUs-n.AllocatedCPUs))
}

// FreeMemory returns how many bytes a job could get now; 0 if the node is not usable or
// its memory is not known.
func (n *NodeLoad) FreeMemory() int64 {
	if !n.Usable() {
		return 0
	}
	return max(0, n.Memory-n.AllocatedMemory)
}

// FreeGPUs returns how many GPUs a job could get now; 0 if the node is not usable.
func (n *NodeLoad) FreeGPUs() int64 {
	if !n.Usable() {
		return 0
	}
	return max(0, n.GPUs-n.AllocatedGPUs)
}

// What a node has at most: more is an error in the answer.
const (
	maxNodeCPUs   = 1 << 20
	maxNodeMemory = 1 << 30 // MiB
	maxNodeGPUs   = 1 << 20
)

// loadRow is one row of the answer: a node in one of its partitions.
type loadRow struct {
	NodeLoad
	partition string
	up        bool
	gpusUsed  bool // the answer says how many GPUs are allocated
}

// loadFields are the columns that sinfo prints. With the width 0 it neither pads nor
// truncates them; wide columns would make tens of megabytes on a large cluster.
var loadFields = []struct {
	name string
	set  func(*loadRow, *reader, string)
}{
	{"NodeList", func(n *loadRow, _ *reader, v string) { n.Name = null(v) }},
	{"PartitionName", func(n *loadRow, _ *reader, v string) { n.partition = null(v) }},
	{"Available", func(n *loadRow, _ *reader, v string) { n.up = v == "up" }},
	{"StateLong", func(n *loadRow, _ *reader, v string) { n.State, n.Flags = nodeState(v) }},
	{"CPUsState", func(n *loadRow, r *reader, v string) { n.AllocatedCPUs, n.IdleCPUs, n.CPUs = r.cpusState(v) }},
	{"Memory", func(n *loadRow, r *reader, v string) { n.Memory = r.atMost(v, maxNodeMemory) * MiB }},
	{"AllocMem", func(n *loadRow, r *reader, v string) { n.AllocatedMemory = r.atMost(v, maxNodeMemory) * MiB }},
	{"Gres", func(n *loadRow, r *reader, v string) { n.GPUs = r.gpus(v) }},
	{"GresUsed", func(n *loadRow, r *reader, v string) { n.AllocatedGPUs, n.gpusUsed = r.gpus(v), null(v) != "" }},
	{"Features", func(n *loadRow, _ *reader, v string) { n.Features = listOf(v) }},
}

// loadFormat returns the argument of -O. Every column except the last ends with the
// separator.
var loadFormat = func() string {
	columns := make([]string, len(loadFields))
	for i, f := range loadFields {
		columns[i] = f.name + ":0"
		if i < len(loadFields)-1 {
			columns[i] += fieldSeparator
		}
	}
	return strings.Join(columns, ",")
}()

// NodeLoads calls sinfo once for all nodes. The error is an *Error.
func (c *Client) NodeLoads(ctx context.Context) (NodeLoads, error) {
	loads := NodeLoads{At: c.now()}
	out, err := c.ask(ctx, Sinfo, "--local", "--all", "--Node", "-O", loadFormat)
	if err != nil {
		return NodeLoads{}, err
	}
	loads.Nodes, loads.Skipped, err = parseNodeLoads(out.Stdout)
	if err != nil {
		return NodeLoads{}, err
	}
	return loads, nil
}

func parseNodeLoads(out []byte) ([]NodeLoad, int, error) {
	t, err := parseTable(Sinfo, out, len(loadFields))
	if err != nil {
		return nil, 0, err
	}
	var nodes []NodeLoad
	index := map[string]int{}
	for _, cells := range t.rows {
		row, ok := parseLoadRow(cells)
		if !ok {
			t.skipped++
			continue
		}
		i, known := index[row.Name]
		if !known {
			i = len(nodes)
			index[row.Name] = i
			nodes = append(nodes, row.NodeLoad)
		}
		if row.up && row.partition != "" {
			nodes[i].Partitions = append(nodes[i].Partitions, row.partition)
		}
	}
	if len(nodes) == 0 && t.skipped > 0 {
		return nil, 0, garbled(Sinfo, fmt.Sprintf("cannot parse any of %d rows", t.skipped))
	}
	for i := range nodes {
		slices.Sort(nodes[i].Partitions)
		nodes[i].Partitions = slices.Compact(nodes[i].Partitions)
	}
	return nodes, t.skipped, nil
}

// parseLoadRow parses the fields of a row; false if they do not describe a node.
func parseLoadRow(cells []string) (loadRow, bool) {
	var row loadRow
	var r reader
	for i, f := range loadFields {
		f.set(&row, &r, cells[i])
	}
	if r.err != nil || row.Name == "" || row.State == "" || row.CPUs == 0 {
		return loadRow{}, false
	}
	if !row.gpusUsed && row.AllocatedCPUs > 0 {
		row.AllocatedGPUs = row.GPUs // nobody knows: assume the worst
	}
	row.AllocatedCPUs = min(row.AllocatedCPUs, row.CPUs)
	row.IdleCPUs = min(row.IdleCPUs, row.CPUs-row.AllocatedCPUs)
	return row, true
}

// cpusState parses allocated/idle/other/total.
func (r *reader) cpusState(text string) (allocated, idle, total int) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		r.note(fmt.Errorf("%q are not CPUs", text))
		return 0, 0, 0
	}
	return int(r.atMost(parts[0], maxNodeCPUs)), int(r.atMost(parts[1], maxNodeCPUs)), int(r.atMost(parts[3], maxNodeCPUs))
}

// atMost parses a count that may be missing; more than most is an error.
func (r *reader) atMost(text string, most int64) int64 {
	n := r.count(text)
	if n > most {
		r.note(fmt.Errorf("%s is too large", strconv.FormatInt(n, 10)))
		return 0
	}
	return n
}

// gpus counts the GPUs in a list of generic resources.
func (r *reader) gpus(text string) (n int64) {
	for _, g := range parsed(r, ParseGRES, text) {
		if g.Name != "gpu" {
			continue
		}
		if g.Count > maxNodeGPUs {
			r.note(fmt.Errorf("%d GPUs are too many", g.Count))
			return 0
		}
		n += g.Count
	}
	return n
}

// WithoutReservedLoad subtracts from nodes what is reserved for the system. The records
// are those of nodes with reserved CPUs or memory; others do not matter.
func WithoutReservedLoad(nodes []NodeLoad, records []NodeRecord) []NodeLoad {
	kept := map[string]NodeRecord{}
	for _, n := range records {
		if n.Reserves() {
			kept[n.Name] = n
		}
	}
	if len(kept) == 0 {
		return nodes
	}
	out := slices.Clone(nodes)
	for i := range out {
		n := &out[i]
		record := kept[n.Name]
		n.CPUs = max(0, n.CPUs-record.ReservedCPUs)
		n.AllocatedCPUs = min(n.AllocatedCPUs, n.CPUs)
		n.IdleCPUs = min(n.IdleCPUs, n.CPUs-n.AllocatedCPUs)
		if n.Memory > 0 {
			n.Memory = max(1, n.Memory-record.ReservedMemory) // 0 would say that it is not known
		}
	}
	return out
}
