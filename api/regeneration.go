package api

// SchedulerOptions configure the Slurm schedulers for the jobs of a workflow that have not
// started.
type SchedulerOptions struct {
	// Site is what the cluster offers, as `hpc show -f json` prints it; absent for the
	// daemon's own cluster.
	Site Object `json:"site,omitempty"`
	// Account is charged; empty for the account of a scheduler of the workflow, of its
	// slurm_defaults, or of the site.
	Account         string `json:"account,omitempty"`
	Partition       string `json:"partition,omitempty"`        // for all jobs; empty: the best for each
	WalltimeSeconds int64  `json:"walltime_seconds,omitempty"` // of all allocations; 0: by the strategy
	GroupBy         string `json:"group_by,omitempty"`         // partition, the default, or resource-requirements
	// WalltimeStrategy is max-job-runtime, the default, or max-partition-time.
	WalltimeStrategy   string   `json:"walltime_strategy,omitempty"`
	WalltimeMultiplier *float64 `json:"walltime_multiplier,omitempty"` // reserve of max-job-runtime; absent: 1.5
	SingleAllocation   bool     `json:"single_allocation,omitempty"`   // one of many nodes instead of many of one
	IncludeJobIDs      []int64  `json:"include_job_ids,omitempty"`     // also these jobs, whatever their status
}

// RegenerateRequest requests Slurm schedulers for the jobs of a workflow that have not
// started.
type RegenerateRequest struct {
	SchedulerOptions
	DryRun     bool `json:"dry_run,omitempty"`     // only propose
	IgnoreLive bool `json:"ignore_live,omitempty"` // allocations that exist do not count
	// Submit also submits the workflow: actions that are due request no allocations then,
	// since the daemon requests what the jobs need. If it does so once only
	// (no_auto_schedule), it requests what is missing for the jobs that are ready.
	Submit *SubmitRequest `json:"submit,omitempty"`
	// StartRun starts a run before the submission if jobs wait for one, like start_run.
	StartRun bool `json:"start_run,omitempty"`
}

// Regeneration is the Slurm schedulers that jobs were given, or would be, and which of
// their allocations are missing.
type Regeneration struct {
	WorkflowID       int64              `json:"workflow_id"`
	DryRun           bool               `json:"dry_run"`
	PendingJobs      int                `json:"pending_jobs"`
	SiteName         string             `json:"site_name"` // empty if no job is pending
	SiteTitle        string             `json:"site_title"`
	Schedulers       []PlannedScheduler `json:"schedulers"`
	TotalAllocations int64              `json:"total_allocations"` // that are missing
	LiveAllocations  int64              `json:"live_allocations"`  // existing or requested
	Warnings         []string           `json:"warnings"`
	// NodeSeconds is the most node time of the missing allocations. Charge is what the
	// site charges for it, in its own unit.
	NodeSeconds int64   `json:"node_seconds"`
	Charge      float64 `json:"charge"`
	// Start is the run that was started before the submission, or would be.
	Start *RunStart `json:"start,omitempty"`
	// SuppressedActions no longer request allocations, or would no longer do so, and
	// Submission is what was requested from Slurm; both only if the request submits.
	SuppressedActions []int64       `json:"suppressed_actions,omitempty"`
	Submission        *SchedulePlan `json:"submission,omitempty"`
}

// PlannedScheduler is a Slurm scheduler for jobs that have not started.
type PlannedScheduler struct {
	ID              *int64   `json:"id,omitempty"` // absent if it does not exist yet
	Name            string   `json:"name"`
	Account         string   `json:"account"`
	Partition       string   `json:"partition"`
	Walltime        string   `json:"walltime"`
	Mem             string   `json:"mem"`
	Nodes           int64    `json:"nodes"`           // of each allocation
	NumAllocations  int64    `json:"num_allocations"` // that are missing
	JobIDs          []int64  `json:"job_ids"`
	JobNames        []string `json:"job_names"`
	HasDependencies bool     `json:"has_dependencies"` // its jobs wait for others
	IsNew           bool     `json:"is_new"`           // it did not exist before
	Reason          string   `json:"reason,omitempty"` // for the partition
	// NodeSeconds is the most node time of the missing allocations. ChargePerNodeHour is
	// what the site charges for an hour of a node.
	NodeSeconds       int64   `json:"node_seconds"`
	ChargePerNodeHour float64 `json:"charge_per_node_hour"`
}
