package lease

import (
	"github.com/torc-slurm/torc-slurm/workflow"
)

// RegisterRequest introduces a runner. Repeating it with the same Key returns
// the same runner.
type RegisterRequest struct {
	Key         string   `json:"key"` // made by the runner, unique to its life
	Hostname    string   `json:"hostname"`
	PID         int64    `json:"pid"`
	BootID      string   `json:"boot_id"`
	StartTime   string   `json:"start_time"` // RFC 3339
	EndTime     string   `json:"end_time,omitempty"`
	NumCPUs     int64    `json:"num_cpus"` // per node
	MemoryBytes int64    `json:"memory_bytes"`
	NumGPUs     int64    `json:"num_gpus"`
	NumNodes    int64    `json:"num_nodes"`
	Labels      []string `json:"labels,omitempty"`
	NodeType    string   `json:"compute_node_type"` // local, slurm
	OutputDir   string   `json:"output_dir"`        // absolute
	// MaxParallelJobs, if not zero, means that the runner counts jobs and
	// ignores resources.
	MaxParallelJobs   int64  `json:"max_parallel_jobs,omitempty"`
	SchedulerConfigID *int64 `json:"scheduler_config_id,omitempty"`
	StrictScheduler   bool   `json:"strict_scheduler_match,omitempty"`
	// OnlyLogin says that the runner is on the daemon's host for the jobs that run
	// there alone, and takes no others.
	OnlyLogin bool `json:"only_login,omitempty"`
	// SharesHost says that the runner, outside of allocations, offers all that its host
	// has, as nobody said how much: what all such runners of a host hold together is no
	// more than it has.
	SharesHost bool `json:"shares_host,omitempty"`
	// Scheduler is stored with the compute node (torc's free-form field).
	Scheduler any `json:"scheduler,omitempty"`
	// Allocation is set by runners in an allocation that the daemon asked for;
	// they show its secret.
	Allocation *AllocationMember `json:"allocation,omitempty"`
}

// RegisterResponse tells a runner who it is and how the workflow wants its
// jobs run.
type RegisterResponse struct {
	RunnerID            int64                           `json:"runner_id"`
	RunID               int64                           `json:"run_id"`
	WorkflowName        string                          `json:"workflow_name"`
	Env                 map[string]string               `json:"env,omitempty"` // of the workflow
	SubmissionDirectory string                          `json:"submission_directory,omitempty"`
	ExecutionConfig     *workflow.ExecutionConfig       `json:"execution_config,omitempty"`
	ResourceMonitor     *workflow.ResourceMonitorConfig `json:"resource_monitor_config,omitempty"`
	EnforceRuntime      bool                            `json:"enforce_runtime,omitempty"`
	LeaseSeconds        float64                         `json:"lease_seconds"`     // a lease ends that long after the last turn
	HeartbeatSeconds    float64                         `json:"heartbeat_seconds"` // a turn at least that often
	WaitForNewJobs      int64                           `json:"wait_for_new_jobs_seconds"`
	IgnoreCompletion    bool                            `json:"ignore_workflow_completion,omitempty"`
	WaitForHealthyMins  int64                           `json:"wait_for_healthy_database_minutes"`
	MinTimeForNewJobs   int64                           `json:"min_time_for_new_jobs_seconds"`
}

// AllocationMember is where a runner in an allocation finds itself, as Slurm's
// variables say.
type AllocationMember struct {
	Cluster      string `json:"cluster,omitempty"`
	SlurmJobID   int64  `json:"slurm_job_id"`
	RestartCount int64  `json:"restart_count"`
	NodeList     string `json:"node_list,omitempty"` // as Slurm writes it
}
