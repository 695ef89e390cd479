// Package siteconfigs has what clusters offer: their partitions, limits and quirks. Known
// sites are shipped as files, others are read from Slurm, and files of the user override
// both.
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
	// Detection has the rules that identify the site; one match is enough.
	Detection []DetectionRule `yaml:"detection,omitempty" json:"detection"`
	// DefaultAccount is charged by default.
	DefaultAccount string `yaml:"default_account,omitempty" json:"default_account,omitempty"`
	// Accounts are those that the user may charge, if known.
	Accounts []Account `yaml:"accounts,omitempty" json:"accounts,omitempty"`
	// QOS are those that limit the size of jobs, if known.
	QOS []QOS `yaml:"qos,omitempty" json:"qos,omitempty"`
	// AutoRouting says that the site chooses the partition of a job, except for those that
	// must be named.
	AutoRouting bool `yaml:"auto_routing,omitempty" json:"auto_routing"`
	// ClassifyTimeout is how long held jobs wait for a classification by default.
	ClassifyTimeout ClassifyTimeout `yaml:"classify_timeout,omitempty" json:"classify_timeout,omitzero"`
	// Requeue lets Slurm requeue an allocation when its node fails. Otherwise a new one is
	// requested, which is faster at most sites.
	Requeue bool `yaml:"requeue,omitempty" json:"requeue"`
	// ChargeFactorCPU and ChargeFactorGPU are the charges for an hour of a node.
	ChargeFactorCPU float64 `yaml:"charge_factor_cpu,omitempty" json:"charge_factor_cpu"`
	ChargeFactorGPU float64 `yaml:"charge_factor_gpu,omitempty" json:"charge_factor_gpu"`

	// SlurmVersion and the following are from Slurm; zero if unknown.
	SlurmVersion  string        `yaml:"slurm_version,omitempty" json:"slurm_version,omitempty"`
	MinJobAge     time.Duration `yaml:"min_job_age,omitempty" json:"min_job_age,omitempty"`       // an ended job stays in squeue
	KillWait      time.Duration `yaml:"kill_wait,omitempty" json:"kill_wait,omitempty"`           // from SIGTERM to SIGKILL
	SlurmdTimeout time.Duration `yaml:"slurmd_timeout,omitempty" json:"slurmd_timeout,omitempty"` // until a silent node is down

	Partitions []Partition       `yaml:"partitions" json:"partitions"`
	Metadata   map[string]string `yaml:"metadata,omitempty" json:"metadata,omitempty"`
}

// ClassifyTimeout is how long held jobs wait; the zero value means forever.
type ClassifyTimeout struct {
	After     time.Duration `yaml:"after,omitempty" json:"after,omitempty"`
	OnTimeout string        `yaml:"on_timeout,omitempty" json:"on_timeout,omitempty"` // fail, the default, or retry
}

// Account has the limits of the user in an account; 0 if there is none, or it is unknown.
type Account struct {
	Name          string        `yaml:"name" json:"name"`
	MaxSubmitJobs int64         `yaml:"max_submit_jobs,omitempty" json:"max_submit_jobs,omitempty"` // pending and running
	MaxJobs       int64         `yaml:"max_jobs,omitempty" json:"max_jobs,omitempty"`               // running
	MaxWalltime   time.Duration `yaml:"max_walltime,omitempty" json:"max_walltime,omitempty"`       // of a job
	DefaultQOS    string        `yaml:"default_qos,omitempty" json:"default_qos,omitempty"`         // of jobs that name none
	MaxJob        Size          `yaml:"max_job,omitempty" json:"max_job,omitzero"`                  // by the rules of the account alone
}

// DetectionRule is a way to identify a site. All set fields must match.
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
	// MaxNodes, MaxNodesPerUser and MinNodes limit the nodes of a job, and of all jobs of
	// a user; 0 is no limit.
	MaxNodes        int64 `yaml:"max_nodes,omitempty" json:"max_nodes,omitempty"`
	MaxNodesPerUser int64 `yaml:"max_nodes_per_user,omitempty" json:"max_nodes_per_user,omitempty"`
	MinNodes        int64 `yaml:"min_nodes,omitempty" json:"min_nodes,omitempty"`
	// NodeTypes are the kinds of nodes, if there are several. The numbers above and below
	// are then the minimum of each.
	NodeTypes []NodeType `yaml:"node_types,omitempty" json:"node_types,omitempty"`
	// TotalNodes is the number of nodes; 0 if unknown.
	TotalNodes int64 `yaml:"total_nodes,omitempty" json:"total_nodes,omitempty"`
	// NodeList is in the format of Slurm, n[1-4]; empty if unknown.
	NodeList    string `yaml:"node_list,omitempty" json:"node_list,omitempty"`
	GPUsPerNode int64  `yaml:"gpus_per_node,omitempty" json:"gpus_per_node,omitempty"`
	GPUType     string `yaml:"gpu_type,omitempty" json:"gpu_type,omitempty"`
	GPUMemoryGB int64  `yaml:"gpu_memory_gb,omitempty" json:"gpu_memory_gb,omitempty"`
	LocalDiskGB int64  `yaml:"local_disk_gb,omitempty" json:"local_disk_gb,omitempty"`
	// Shared lets several jobs use a node.
	Shared bool `yaml:"shared,omitempty" json:"shared"`
	// RequiresExplicitRequest says that Slurm uses it only for jobs that name it.
	RequiresExplicitRequest bool `yaml:"requires_explicit_request,omitempty" json:"requires_explicit_request"`
	// OnlyByName says that it has a special purpose, so that it is used only if the user
	// names it.
	OnlyByName bool `yaml:"only_by_name,omitempty" json:"only_by_name,omitempty"`
	// Default says that Slurm uses it for jobs that name none.
	Default bool `yaml:"default,omitempty" json:"default,omitempty"`
	// Preemptible says that jobs of other partitions may preempt jobs here.
	Preemptible bool `yaml:"preemptible,omitempty" json:"preemptible,omitempty"`
	// Closed is why it takes no jobs now; empty if it does.
	Closed string `yaml:"closed,omitempty" json:"closed,omitempty"`
	// AllowAccounts are the only accounts that may use it; all if empty.
	AllowAccounts []string `yaml:"allow_accounts,omitempty" json:"allow_accounts,omitempty"`
	DenyAccounts  []string `yaml:"deny_accounts,omitempty" json:"deny_accounts,omitempty"`
	DefaultQOS    string   `yaml:"default_qos,omitempty" json:"default_qos,omitempty"`
	// AllowQOS are the only qualities of service of jobs there; all if empty.
	AllowQOS []string `yaml:"allow_qos,omitempty" json:"allow_qos,omitempty"`
	DenyQOS  []string `yaml:"deny_qos,omitempty" json:"deny_qos,omitempty"`
	// RequiresReservation says that it takes only jobs with a reservation, so that it is
	// used only if the user names it.
	RequiresReservation bool `yaml:"requires_reservation,omitempty" json:"requires_reservation,omitempty"`
	// MaxJob is the largest size of a job.
	MaxJob Size `yaml:"max_job,omitempty" json:"max_job,omitzero"`
	// MaxMemPerNodeMB is the most memory of a node for a job; 0 is all.
	MaxMemPerNodeMB int64 `yaml:"max_mem_per_node_mb,omitempty" json:"max_mem_per_node_mb,omitempty"`
	// MaxMemPerCPUMB and DefMemPerCPUMB are Slurm's rules for memory; 0 is none.
	MaxMemPerCPUMB int64    `yaml:"max_mem_per_cpu_mb,omitempty" json:"max_mem_per_cpu_mb,omitempty"`
	DefMemPerCPUMB int64    `yaml:"def_mem_per_cpu_mb,omitempty" json:"def_mem_per_cpu_mb,omitempty"`
	Features       []string `yaml:"features,omitempty" json:"features,omitempty"`
}

// Account returns what is known of an account, or of the default one if name is empty.
func (s *Site) Account(name string) Account {
	name = cmp.Or(name, s.DefaultAccount)
	for _, a := range s.Accounts {
		if a.Name == name {
			return a
		}
	}
	return Account{Name: name}
}

// NodeType is a kind of nodes in a partition.
type NodeType struct {
	Count    int64  `yaml:"count,omitempty" json:"count"` // 0 if unknown
	CPUs     int64  `yaml:"cpus" json:"cpus"`
	MemoryMB int64  `yaml:"memory_mb" json:"memory_mb"` // MiB
	GPUs     int64  `yaml:"gpus,omitempty" json:"gpus"`
	GPUType  string `yaml:"gpu_type,omitempty" json:"gpu_type,omitempty"`
}

// Types returns the kinds of nodes of a partition, at least one, the smallest first, with
// the memory for jobs.
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

// Partition returns the partition with a name, nil if there is none.
func (s *Site) Partition(name string) *Partition {
	for i := range s.Partitions {
		if s.Partitions[i].Name == name {
			return &s.Partitions[i]
		}
	}
	return nil
}

// Title returns the name of the site for users.
func (s *Site) Title() string { return cmp.Or(s.DisplayName, s.Name) }

// clone returns a deep copy of a site.
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

// debug reports whether a partition is for short tests, judged by its name. A default
// partition never is.
func (p *Partition) debug() bool {
	return !p.Default && strings.Contains(strings.ToLower(p.Name), "debug")
}
