package slurmtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// nodeColumns are the letters of sinfo's --format that the fake knows. Each
// node is a row of its own, as if no two were alike.
var nodeColumns = map[byte]struct {
	heading string
	value   func(*Cluster, Partition, *node) string
}{
	'R': {"PARTITION", func(_ *Cluster, p Partition, _ *node) string { return p.Name }},
	'a': {"AVAIL", func(*Cluster, Partition, *node) string { return "up" }},
	'l': {"TIMELIMIT", func(_ *Cluster, p Partition, _ *node) string { return slurm.FormatDuration(p.MaxTime) }},
	'T': {"STATE", func(c *Cluster, _ Partition, n *node) string { return c.nodeState(n) }},
	'D': {"NODES", func(*Cluster, Partition, *node) string { return "1" }},
	'c': {"CPUS", func(_ *Cluster, _ Partition, n *node) string { return strconv.Itoa(n.CPUs) }},
	'X': {"SOCKETS", func(*Cluster, Partition, *node) string { return "1" }},
	'Y': {"CORES", func(_ *Cluster, _ Partition, n *node) string { return strconv.Itoa(n.CPUs) }},
	'Z': {"THREADS", func(*Cluster, Partition, *node) string { return "1" }},
	'm': {"MEMORY", func(_ *Cluster, _ Partition, n *node) string { return strconv.FormatInt(n.Memory/slurm.MiB, 10) }},
	'd': {"TMP_DISK", func(*Cluster, Partition, *node) string { return "0" }},
	'G': {"GRES", func(_ *Cluster, _ Partition, n *node) string { return gresText(n) }},
	'f': {"AVAIL_FEATURES", func(*Cluster, Partition, *node) string { return "(null)" }},
	'E': {"REASON", func(_ *Cluster, _ Partition, n *node) string { return orWord(n.reason, "none") }},
	'N': {"NODELIST", func(_ *Cluster, _ Partition, n *node) string { return n.Name }},
}

func gresText(n *node) string {
	if n.GPUs == 0 {
		return "(null)"
	}
	return fmt.Sprintf("gpu:test:%d", n.GPUs)
}

// nodeState is a node's state as sinfo's %T shows it.
func (c *Cluster) nodeState(n *node) string {
	flag := ""
	if n.dead {
		flag = "*"
	}
	busy := len(n.lives) > 0
	switch {
	case n.down:
		return "down" + flag
	case n.drain && busy:
		return "draining" + flag
	case n.drain:
		return "drained" + flag
	case !busy:
		return "idle" + flag
	case c.free(n).cpus > 0:
		return "mixed" + flag
	}
	return "allocated" + flag
}

// sinfo answers --format.
func (c *Cluster) sinfo(args []string) slurm.Output {
	named, _ := options(args, map[string]string{"-o": "format"})
	if named["format"] == "" {
		return refusal("sinfo: the fake cluster answers --format only")
	}
	var out strings.Builder
	row := func(value func(letter byte) string) {
		for i, part := range strings.Split(named["format"], "%") {
			if i == 0 {
				out.WriteString(part)
			} else if part != "" {
				out.WriteString(value(part[0]) + part[1:])
			}
		}
		out.WriteByte('\n')
	}
	row(func(letter byte) string { return nodeColumns[letter].heading })
	for _, p := range c.opts.Partitions {
		for _, n := range c.nodes {
			if p.Nodes != nil && !slices.Contains(p.Nodes, n.Name) {
				continue
			}
			row(func(letter byte) string {
				if column, ok := nodeColumns[letter]; ok {
					return column.value(c, p, n)
				}
				return ""
			})
		}
	}
	return slurm.Output{Stdout: []byte(out.String())}
}
