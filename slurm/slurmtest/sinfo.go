package slurmtest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// nodeColumns are the letters of sinfo's --format that the fake knows. Each node is a row
// of its own, as if no two were alike.
var nodeColumns = map[byte]struct {
	heading string
	value   func(Partition, *node) string
}{
	'R': {"PARTITION", func(p Partition, _ *node) string { return p.Name }},
	'a': {"AVAIL", func(Partition, *node) string { return "up" }},
	'l': {"TIMELIMIT", func(p Partition, _ *node) string { return slurm.FormatDuration(p.MaxTime) }},
	'T': {"STATE", func(_ Partition, n *node) string { return n.state() }},
	'D': {"NODES", func(Partition, *node) string { return "1" }},
	'c': {"CPUS", func(_ Partition, n *node) string { return strconv.Itoa(n.CPUs) }},
	'X': {"SOCKETS", func(Partition, *node) string { return "1" }},
	'Y': {"CORES", func(_ Partition, n *node) string { return strconv.Itoa(n.CPUs) }},
	'Z': {"THREADS", func(Partition, *node) string { return "1" }},
	'm': {"MEMORY", func(_ Partition, n *node) string { return strconv.FormatInt(n.Memory/slurm.MiB, 10) }},
	'd': {"TMP_DISK", func(Partition, *node) string { return "0" }},
	'G': {"GRES", func(_ Partition, n *node) string { return n.gres() }},
	'f': {"AVAIL_FEATURES", func(Partition, *node) string { return "(null)" }},
	'E': {"REASON", func(_ Partition, n *node) string { return orWord(n.reason, "none") }},
	'N': {"NODELIST", func(_ Partition, n *node) string { return n.Name }},
}

// sinfo answers --format.
func sinfo(ps partitions, ns nodes, args []string) slurm.Output {
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
	for _, p := range ps {
		for _, n := range ns {
			if p.Nodes != nil && !slices.Contains(p.Nodes, n.Name) {
				continue
			}
			row(func(letter byte) string {
				if column, ok := nodeColumns[letter]; ok {
					return column.value(p, n)
				}
				return ""
			})
		}
	}
	return slurm.Output{Stdout: []byte(out.String())}
}
