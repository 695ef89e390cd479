package siteconfigs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Size is the largest total size of a job; 0 is no limit.
type Size struct {
	CPUs     int64 `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	MemoryMB int64 `yaml:"memory_mb,omitempty" json:"memory_mb,omitempty"` // MiB
	GPUs     int64 `yaml:"gpus,omitempty" json:"gpus,omitempty"`
	Nodes    int64 `yaml:"nodes,omitempty" json:"nodes,omitempty"`
}

// QOS is a quality of service that limits jobs.
type QOS struct {
	Name   string `yaml:"name" json:"name"`
	MaxJob Size   `yaml:"max_job,omitempty" json:"max_job,omitzero"`
}

// sizeOf combines several limits. A limit for all jobs of a user or group limits each of
// them.
func sizeOf(limits ...slurm.TRES) (s Size) {
	for _, l := range limits {
		s = s.least(Size{CPUs: l["cpu"], MemoryMB: l["mem"] / slurm.MiB, GPUs: l["gres/gpu"], Nodes: l["node"]})
	}
	return s
}

func sizeOfQOS(q *slurm.QOS) Size {
	if q == nil {
		return Size{}
	}
	return sizeOf(q.MaxTRESPerJob, q.MaxTRESPerUser, q.GrpTRES)
}

func (s Size) least(o Size) Size {
	return Size{CPUs: least(s.CPUs, o.CPUs), MemoryMB: least(s.MemoryMB, o.MemoryMB), GPUs: least(s.GPUs, o.GPUs), Nodes: least(s.Nodes, o.Nodes)}
}

// MaxJob returns the largest size of a job in a partition by the limits of the account,
// the QOS and the partition; empty names are the defaults.
func (s *Site) MaxJob(p *Partition, account, qos string) Size {
	a := s.Account(account)
	size := a.MaxJob.least(p.MaxJob)
	qos = cmp.Or(qos, p.DefaultQOS, a.DefaultQOS)
	if i := slices.IndexFunc(s.QOS, func(q QOS) bool { return q.Name == qos }); i >= 0 {
		size = size.least(s.QOS[i].MaxJob)
	}
	return size
}

// misfit returns why a need on such nodes exceeds the size of a job, empty if it does not.
// Nodes that are not shared count as a whole.
func (s Size) misfit(need *Need, node NodeType, shared bool) string {
	each := NodeType{CPUs: need.CPUs, MemoryMB: need.MemoryMB, GPUs: need.GPUs}
	if !shared {
		each.CPUs, each.GPUs = node.CPUs, node.GPUs
	}
	for _, x := range []struct {
		needed, limit int64
		one, many     string
	}{
		{need.Nodes, s.Nodes, "node is", "nodes are"},
		{need.Nodes * each.CPUs, s.CPUs, "CPU is", "CPUs are"},
		{need.Nodes * each.MemoryMB, s.MemoryMB, "MiB is", "MiB are"},
		{need.Nodes * each.GPUs, s.GPUs, "GPU is", "GPUs are"},
	} {
		if x.limit > 0 && x.needed > x.limit {
			return fmt.Sprintf("%s needed, a job may have %d by its account or QOS", count(x.needed, x.one, x.many), x.limit)
		}
	}
	return ""
}
