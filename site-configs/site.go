// Package siteconfigs knows what clusters offer: their partitions, limits and
// quirks. The known ones are shipped as files, any other is asked, and a file
// of the user has the last word.
package siteconfigs

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Site is a cluster.
type Site struct {
	Name        string `yaml:"name" json:"name"`
	DisplayName string `yaml:"display_name,omitempty" json:"display_name"`
	Description string `yaml:"description,omitempty" json:"description"`
	// Detection has the signs by which the site is recognised; one is enough.
	Detection []DetectionRule `yaml:"detection,omitempty" json:"detection"`
	// DefaultAccount is charged where nobody names another.
	DefaultAccount string `yaml:"default_account,omitempty" json:"default_account,omitempty"`
	// Accounts that the user may charge, as far as they are known.
	Accounts []Account `yaml:"accounts,omitempty" json:"accounts,omitempty"`
	// QOS that bound the size of jobs, as far as they are known.
	QOS []QOS `yaml:"qos,omitempty" json:"qos,omitempty"`
	// AutoRouting says that the site finds the partition of a job by itself,
	// save for those that have to be named.
	AutoRouting bool `yaml:"auto_routing,omitempty" json:"auto_routing"`
	// ClassifyTimeout is how long held jobs wait for a classification where neither a
	// rule nor their workflow says it.
	ClassifyTimeout ClassifyTimeout `yaml:"classify_timeout,omitempty" json:"classify_timeout,omitzero"`
	// Requeue lets Slurm start an allocation again by itself when its node
	// fails. We ask for another one, which is faster at most sites.
	Requeue bool `yaml:"requeue,omitempty" json:"requeue"`
	// ChargeFactorCPU and ChargeFactorGPU are what an hour of a node costs.
	ChargeFactorCPU float64 `yaml:"charge_factor_cpu,omitempty" json:"charge_factor_cpu"`
	ChargeFactorGPU float64 `yaml:"charge_factor_gpu,omitempty" json:"charge_factor_gpu"`

	// SlurmVersion and the rest are what Slurm itself says; zero if unknown.
	SlurmVersion  string        `yaml:"slurm_version,omitempty" json:"slurm_version,omitempty"`
	MinJobAge     time.Duration `yaml:"min_job_age,omitempty" json:"min_job_age,omitempty"`       // an ended job stays in squeue
	KillWait      time.Duration `yaml:"kill_wait,omitempty" json:"kill_wait,omitempty"`           // from SIGTERM to SIGKILL
	SlurmdTimeout time.Duration `yaml:"slurmd_timeout,omitempty" json:"slurmd_timeout,omitempty"` // until a silent node is down

	Partitions []Partition       `yaml:"partitions" json:"partitions"`
	Metadata   map[string]string `yaml:"metadata,omitempty" json:"metadata,omitempty"`
}

// ClassifyTimeout is how long held jobs wait; the zero one is for ever.
type ClassifyTimeout struct {
	After     time.Duration `yaml:"after,omitempty" json:"after,omitempty"`
	OnTimeout string        `yaml:"on_timeout,omitempty" json:"on_timeout,omitempty"` // fail, the default, or retry
}

// Account is what the user may do with an account; 0 is no limit, or none that
// we know.
type Account struct {
	Name          string        `yaml:"name" json:"name"`
	MaxSubmitJobs int64         `yaml:"max_submit_jobs,omitempty" json:"max_submit_jobs,omitempty"` // pending and running
	MaxJobs       int64         `yaml:"max_jobs,omitempty" json:"max_jobs,omitempty"`               // running
	MaxWalltime   time.Duration `yaml:"max_walltime,omitempty" json:"max_walltime,omitempty"`       // of a job
	DefaultQOS    string        `yaml:"default_qos,omitempty" json:"default_qos,omitempty"`         // of jobs that name none
	MaxJob        Size          `yaml:"max_job,omitempty" json:"max_job,omitzero"`                  // by the rules of the account alone
}

// DetectionRule is one way to recognise a site. All that it names must hold.
type DetectionRule struct {
	Env      string `yaml:"env,omitempty" json:"env,omitempty"`           // a variable
	Value    string `yaml:"value,omitempty" json:"value,omitempty"`       // of that variable; any if empty
	Hostname string `yaml:"hostname,omitempty" json:"hostname,omitempty"` // a regular expression for the whole name
	Cluster  string `yaml:"cluster,omitempty" json:"cluster,omitempty"`   // as Slurm calls itself
}

// Partition is one queue of a site; numbers are per node.
type Partition struct {
	Name        string `yaml:"name" json:"name"`
	Description string `yaml:"description,omitempty" json:"description"`
	CPUsPerNode int64  `yaml:"cpus_per_node" json:"cpus_per_node"`
	MemoryMB    int64  `yaml:"memory_mb" json:"memory_mb"` // MiB, as Slurm counts
	// MaxWalltime of a job; 0 is no limit.
	MaxWalltime time.Duration `yaml:"max_walltime,omitempty" json:"max_walltime"`
	// MaxNodes, MaxNodesPerUser and MinNodes bound the nodes of a job, and of
	// all jobs of a user; 0 is no limit.
	MaxNodes        int64 `yaml:"max_nodes,omitempty" json:"max_nodes,omitempty"`
	MaxNodesPerUser int64 `yaml:"max_nodes_per_user,omitempty" json:"max_nodes_per_user,omitempty"`
	MinNodes        int64 `yaml:"min_nodes,omitempty" json:"min_nodes,omitempty"`
	// NodeTypes are the kinds of nodes, where there are several; the numbers
	// above and below are then the least of each.
	NodeTypes []NodeType `yaml:"node_types,omitempty" json:"node_types,omitempty"`
	// TotalNodes is how many nodes it has; 0 if unknown.
	TotalNodes int64 `yaml:"total_nodes,omitempty" json:"total_nodes,omitempty"`
	// NodeList names them as Slurm does, n[1-4]; empty if unknown.
	NodeList    string `yaml:"node_list,omitempty" json:"node_list,omitempty"`
	GPUsPerNode int64  `yaml:"gpus_per_node,omitempty" json:"gpus_per_node,omitempty"`
	GPUType     string `yaml:"gpu_type,omitempty" json:"gpu_type,omitempty"`
	GPUMemoryGB int64  `yaml:"gpu_memory_gb,omitempty" json:"gpu_memory_gb,omitempty"`
	LocalDiskGB int64  `yaml:"local_disk_gb,omitempty" json:"local_disk_gb,omitempty"`
	// Shared lets several jobs use a node.
	Shared bool `yaml:"shared,omitempty" json:"shared"`
	// RequiresExplicitRequest: Slurm uses it only for jobs that name it.
	RequiresExplicitRequest bool `yaml:"requires_explicit_request,omitempty" json:"requires_explicit_request"`
	// OnlyByName: it is for a purpose that we cannot know, so a user must ask
	// for it.
	OnlyByName bool `yaml:"only_by_name,omitempty" json:"only_by_name,omitempty"`
	// Default: Slurm uses it for jobs that name none.
	Default bool `yaml:"default,omitempty" json:"default,omitempty"`
	// Preemptible: jobs of other partitions may displace jobs here.
	Preemptible bool `yaml:"preemptible,omitempty" json:"preemptible,omitempty"`
	// Closed says why it takes no jobs at the moment; empty if it does.
	Closed string `yaml:"closed,omitempty" json:"closed,omitempty"`
	// AllowAccounts are the only accounts that may use it; all if empty.
	AllowAccounts []string `yaml:"allow_accounts,omitempty" json:"allow_accounts,omitempty"`
	DenyAccounts  []string `yaml:"deny_accounts,omitempty" json:"deny_accounts,omitempty"`
	DefaultQOS    string   `yaml:"default_qos,omitempty" json:"default_qos,omitempty"`
	// AllowQOS are the only qualities of service of jobs there; all if empty.
	AllowQOS []string `yaml:"allow_qos,omitempty" json:"allow_qos,omitempty"`
	DenyQOS  []string `yaml:"deny_qos,omitempty" json:"deny_qos,omitempty"`
	// RequiresReservation: it takes only jobs that use a reservation, which only a
	// user who names the partition can have.
	RequiresReservation bool `yaml:"requires_reservation,omitempty" json:"requires_reservation,omitempty"`
	// MaxJob is how large jobs may be there.
	MaxJob Size `yaml:"max_job,omitempty" json:"max_job,omitzero"`
	// MaxMemPerNodeMB is what a job may have of a node's memory; 0 is all.
	MaxMemPerNodeMB int64 `yaml:"max_mem_per_node_mb,omitempty" json:"max_mem_per_node_mb,omitempty"`
	// MaxMemPerCPUMB and DefMemPerCPUMB are Slurm's rules for memory; 0 is none.
	MaxMemPerCPUMB int64    `yaml:"max_mem_per_cpu_mb,omitempty" json:"max_mem_per_cpu_mb,omitempty"`
	DefMemPerCPUMB int64    `yaml:"def_mem_per_cpu_mb,omitempty" json:"def_mem_per_cpu_mb,omitempty"`
	Features       []string `yaml:"features,omitempty" json:"features,omitempty"`
}

// Account returns what is known of an account; of the default one without a
// name.
func (s *Site) Account(name string) Account {
	name = cmp.Or(name, s.DefaultAccount)
	for _, a := range s.Accounts {
		if a.Name == name {
			return a
		}
	}
	return Account{Name: name}
}

// NodeType is nodes of one kind in a partition.
type NodeType struct {
	Count    int64  `yaml:"count,omitempty" json:"count"` // 0 if unknown
	CPUs     int64  `yaml:"cpus" json:"cpus"`
	MemoryMB int64  `yaml:"memory_mb" json:"memory_mb"` // MiB
	GPUs     int64  `yaml:"gpus,omitempty" json:"gpus"`
	GPUType  string `yaml:"gpu_type,omitempty" json:"gpu_type,omitempty"`
}

// Types returns the kinds of nodes of a partition, the smallest first, with
// the memory that jobs may have there; there is one at least.
func (p *Partition) Types() []NodeType {
	types := slices.Clone(p.NodeTypes)
	if len(types) == 0 {
		types = []NodeType{{Count: p.TotalNodes, CPUs: p.CPUsPerNode, MemoryMB: p.MemoryMB, GPUs: p.GPUsPerNode, GPUType: p.GPUType}}
	}
	for i := range types {
		if p.MaxMemPerNodeMB > 0 {
			types[i].MemoryMB = min(types[i].MemoryMB, p.MaxMemPerNodeMB)
		}
		if p.MaxMemPerCPUMB > 0 {
			types[i].MemoryMB = min(types[i].MemoryMB, types[i].CPUs*p.MaxMemPerCPUMB)
		}
	}
	slices.SortFunc(types, func(a, b NodeType) int {
		return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.MemoryMB, b.MemoryMB), cmp.Compare(a.CPUs, b.CPUs))
	})
	return types
}

// Partition returns the partition of a name, nil if there is none.
func (s *Site) Partition(name string) *Partition {
	for i := range s.Partitions {
		if s.Partitions[i].Name == name {
			return &s.Partitions[i]
		}
	}
	return nil
}

// Title is the name of the site for people.
func (s *Site) Title() string { return cmp.Or(s.DisplayName, s.Name) }

// clone copies a site so that changes do not reach the original.
func (s *Site) clone() *Site {
	c := *s
	c.Detection = slices.Clone(s.Detection)
	c.Accounts, c.QOS = slices.Clone(s.Accounts), slices.Clone(s.QOS)
	c.Metadata = maps.Clone(s.Metadata)
	c.Partitions = slices.Clone(s.Partitions)
	for i := range c.Partitions {
		p := &c.Partitions[i]
		p.AllowAccounts, p.DenyAccounts = slices.Clone(p.AllowAccounts), slices.Clone(p.DenyAccounts)
		p.AllowQOS, p.DenyQOS = slices.Clone(p.AllowQOS), slices.Clone(p.DenyQOS)
		p.Features, p.NodeTypes = slices.Clone(p.Features), slices.Clone(p.NodeTypes)
	}
	return &c
}

// debug reports whether a partition is for short trials, going by its name. A
// cluster's default partition is not, whatever its name.
func (p *Partition) debug() bool {
	return !p.Default && strings.Contains(strings.ToLower(p.Name), "debug")
}
