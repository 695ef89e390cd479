package slurmtest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// nodeColumns are the letters of sinfo's --format that the fake knows. Each node is a row
// of its own, as if no two were alike.
var nodeColumns = map[byte]struct {
	heading string
	value   func(*scheduler, Partition, *node) string
}{
	'R': {"PARTITION", func(_ *scheduler, p Partition, _ *node) string { return p.Name }},
	'a': {"AVAIL", func(*scheduler, Partition, *node) string { return "up" }},
	'l': {"TIMELIMIT", func(_ *scheduler, p Partition, _ *node) string { return slurm.FormatDuration(p.MaxTime) }},
	'T': {"STATE", func(s *scheduler, _ Partition, n *node) string { return s.nodeState(n) }},
	'D': {"NODES", func(*scheduler, Partition, *node) string { return "1" }},
	'c': {"CPUS", func(_ *scheduler, _ Partition, n *node) string { return strconv.Itoa(n.CPUs) }},
	'X': {"SOCKETS", func(*scheduler, Partition, *node) string { return "1" }},
	'Y': {"CORES", func(_ *scheduler, _ Partition, n *node) string { return strconv.Itoa(n.CPUs) }},
	'Z': {"THREADS", func(*scheduler, Partition, *node) string { return "1" }},
	'm': {"MEMORY", func(_ *scheduler, _ Partition, n *node) string { return strconv.FormatInt(n.Memory/slurm.MiB, 10) }},
	'd': {"TMP_DISK", func(*scheduler, Partition, *node) string { return "0" }},
	'G': {"GRES", func(_ *scheduler, _ Partition, n *node) string { return n.gres() }},
	'f': {"AVAIL_FEATURES", func(*scheduler, Partition, *node) string { return "(null)" }},
	'E': {"REASON", func(_ *scheduler, _ Partition, n *node) string { return orWord(n.reason, "none") }},
	'N': {"NODELIST", func(_ *scheduler, _ Partition, n *node) string { return n.Name }},
}

// loadColumns are the columns of sinfo's -O that the fake knows.
var loadColumns = map[string]struct {
	heading string
	value   func(*scheduler, Partition, *node) string
}{
	"nodelist":      {"NODELIST", func(_ *scheduler, _ Partition, n *node) string { return n.Name }},
	"partitionname": {"PARTITION", func(_ *scheduler, p Partition, _ *node) string { return p.Name }},
	"available":     {"AVAIL", func(*scheduler, Partition, *node) string { return "up" }},
	"statelong":     {"STATE", func(s *scheduler, _ Partition, n *node) string { return s.nodeState(n) }},
	"cpusstate":     {"CPUS(A/I/O/T)", func(_ *scheduler, _ Partition, n *node) string { return n.cpusState() }},
	"memory":        {"MEMORY", func(_ *scheduler, _ Partition, n *node) string { return strconv.FormatInt(n.Memory/slurm.MiB, 10) }},
	"allocmem": {"ALLOCMEM", func(_ *scheduler, _ Partition, n *node) string {
		return strconv.FormatInt(n.used().memory/slurm.MiB, 10)
	}},
	"gres":     {"GRES", func(_ *scheduler, _ Partition, n *node) string { return n.gres() }},
	"gresused": {"GRES_USED", func(_ *scheduler, _ Partition, n *node) string { return n.gresUsed() }},
	"features": {"AVAIL_FEATURES", func(*scheduler, Partition, *node) string { return "(null)" }},
}

// nodeState returns the node's state with what reservations and the plan make of it.
func (s *scheduler) nodeState(n *node) string {
	state := n.state()
	r := s.active(n)
	switch {
	case state == "idle" && r != nil && slices.Contains(r.Flags, "MAINT"):
		return "maint"
	case state == "idle" && r != nil:
		return "reserved"
	case state == "idle" && s.current().keeps(n):
		return "planned"
	case r != nil && slices.Contains(r.Flags, "MAINT") && !strings.HasSuffix(state, "*"):
		return state + "$"
	}
	return state
}

// cpusState returns allocated/idle/other/total.
func (n *node) cpusState() string {
	used := n.used().cpus
	idle, other := n.CPUs-used, 0
	if n.down || n.drain {
		idle, other = 0, idle
	}
	return fmt.Sprintf("%d/%d/%d/%d", used, idle, other, n.CPUs)
}

func (n *node) gresUsed() string {
	if n.GPUs == 0 {
		return "gpu:0"
	}
	return fmt.Sprintf("gpu:test:%d(IDX:N/A)", n.used().gpus)
}

// sinfo answers --format, and -O for each node.
type sinfo struct {
	partitions partitions
	scheduler  *scheduler
}

func (s sinfo) run(args []string) slurm.Output {
	named, _ := options(args, map[string]string{"-o": "format", "-O": "Format"})
	switch {
	case named["Format"] != "":
		return s.loads(named["Format"])
	case named["format"] != "":
		return s.formatted(named["format"])
	}
	return refusal("sinfo: the fake cluster answers --format and -O only")
}

// loads prints a row for each node of each partition.
func (s sinfo) loads(format string) slurm.Output {
	var columns []queueColumn
	for spec := range strings.SplitSeq(format, ",") {
		column, err := parseColumn(spec, func(name string) bool { return loadColumns[name].value != nil })
		if err != nil {
			return refusal("sinfo: error: " + err.Error())
		}
		columns = append(columns, column)
	}
	var out bytes.Buffer
	for _, column := range columns {
		column.write(&out, loadColumns[column.name].heading)
	}
	out.WriteByte('\n')
	s.each(func(p Partition, n *node) {
		for _, column := range columns {
			column.write(&out, loadColumns[column.name].value(s.scheduler, p, n))
		}
		out.WriteByte('\n')
	})
	return slurm.Output{Stdout: out.Bytes()}
}

// each calls a function with each node of each partition.
func (s sinfo) each(do func(Partition, *node)) {
	for _, p := range s.partitions {
		for _, n := range s.scheduler.nodes {
			if p.Nodes == nil || slices.Contains(p.Nodes, n.Name) {
				do(p, n)
			}
		}
	}
}

// formatted answers --format.
func (s sinfo) formatted(format string) slurm.Output {
	var out strings.Builder
	row := func(value func(letter byte) string) {
		for i, part := range strings.Split(format, "%") {
			if i == 0 {
				out.WriteString(part)
			} else if part != "" {
				out.WriteString(value(part[0]) + part[1:])
			}
		}
		out.WriteByte('\n')
	}
	row(func(letter byte) string { return nodeColumns[letter].heading })
	s.each(func(p Partition, n *node) {
		row(func(letter byte) string {
			if column, ok := nodeColumns[letter]; ok {
				return column.value(s.scheduler, p, n)
			}
			return ""
		})
	})
	return slurm.Output{Stdout: []byte(out.String())}
}
