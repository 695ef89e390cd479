package compute

// AllocationPlan says which allocations suit the jobs, and what they cost.
type AllocationPlan struct {
	Analysis        WorkAnalysis       `json:"workflow_analysis"`
	Cluster         []PartitionState   `json:"cluster_state"` // empty if Slurm was not queried
	Recommendations []AllocationAdvice `json:"recommendations"`
	Warnings        []string           `json:"warnings"`
	Groups          []AllocationGroup  `json:"resource_groups"`
	SiteName        string             `json:"profile_name"`
	SiteTitle       string             `json:"profile_display_name"`
	Account         string             `json:"account"`
	// NodeSeconds is the maximum that the recommended allocations use, and Charge what the
	// site charges for that, in its own unit.
	NodeSeconds int64   `json:"node_seconds"`
	Charge      float64 `json:"charge"`
}

// WorkAnalysis says how many jobs there are, and how many can run at the same time.
type WorkAnalysis struct {
	TotalJobs      int `json:"total_jobs"`      // entries of the specification, if there is one
	TotalInstances int `json:"total_instances"` // jobs after expansion
	Depth          int `json:"dependency_depth"`
	MaxParallelism int `json:"max_parallelism"`
	AtLevel        int `json:"max_parallelism_level"`
	ResourceGroups int `json:"resource_groups"`
}

// PartitionState is how busy a partition is: its nodes, and the jobs of all users.
type PartitionState struct {
	Partition    string `json:"partition"`
	Idle         int64  `json:"idle"`
	Mixed        int64  `json:"mixed"`
	Allocated    int64  `json:"allocated"`
	Down         int64  `json:"down"`
	Total        int64  `json:"total"`
	PendingJobs  int64  `json:"pending_jobs"`
	PendingNodes int64  `json:"pending_nodes"`
	RunningJobs  int64  `json:"running_jobs"`
}

// AllocationGroup is a group of jobs that share a scheduler.
type AllocationGroup struct {
	Name       string `json:"name"`
	Partition  string `json:"partition"`
	Reason     string `json:"reason,omitempty"` // for the partition
	JobCount   int    `json:"job_count"`
	Walltime   string `json:"walltime"`
	IdealNodes int64  `json:"ideal_nodes"` // for the largest number of jobs that can run at the same time
}

// AllocationAdvice says how to request the nodes of a group.
type AllocationAdvice struct {
	Group       string          `json:"group_name"`
	Partition   string          `json:"partition"`
	Allocations int64           `json:"num_allocations"`
	Nodes       int64           `json:"nodes_per_allocation"`
	TotalNodes  int64           `json:"total_nodes"`
	Strategy    string          `json:"strategy"`
	Reason      string          `json:"reason"`
	Walltime    string          `json:"walltime"`
	JobCount    int             `json:"job_count"`
	Estimates   []StartEstimate `json:"sbatch_estimates"`
	// NodeSeconds is the maximum that the allocations use.
	NodeSeconds int64 `json:"node_seconds"`
}

// StartEstimate is when Slurm would start an allocation that is requested now.
type StartEstimate struct {
	Nodes       int64  `json:"nodes"`
	Start       string `json:"start_time"` // RFC 3339
	WaitSeconds int64  `json:"wait_seconds"`
}
