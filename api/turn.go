package api

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The runner call is ours, additive to torc's API: a runner makes one request
// per turn, with everything that it has to say, and gets back everything that
// it has to do. See docs/ARCHITECTURE.md, "The runner call".
//
//	POST /workflows/{id}/runners        RegisterRequest  -> RegisterResponse
//	POST /runners/{id}/turn             TurnRequest      -> TurnResponse
//	POST /runners/{id}/leave            LeaveRequest     -> LeaveResponse
//
// A runner is a compute node of torc's API; its id is the compute node's id.

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

// TurnRequest is what a runner says in one turn. Sending the same turn again
// has no second effect and returns the same grants.
type TurnRequest struct {
	Turn  int64 `json:"turn"` // grows by one
	RunID int64 `json:"run_id"`
	// Held lists every lease that the runner has, running or about to run;
	// exactly these are renewed. Grants of an earlier answer that are not in
	// it are granted again.
	Held    []Held   `json:"held,omitempty"`
	Reports []Report `json:"reports,omitempty"`
	// Started lists attempts that an earlier runner of this host had begun to
	// start when it was killed, and that it has not reported.
	Started []Held `json:"started,omitempty"`
	// GiveBack lists grants that the runner will not start: their jobs are
	// ready again and it was no attempt.
	GiveBack []LeaseRef `json:"give_back,omitempty"`
	// NotStarted lists leases that were said to be started, with that time, and
	// are not: Slurm refused the step. The runner keeps them and tries again.
	NotStarted []Held `json:"not_started,omitempty"`
	// Recovered lists recovery scripts that have ended.
	Recovered []Recovered `json:"recovered,omitempty"`
	Free      Free        `json:"free"`
	// Paused says that the runner starts nothing for now; nil: it does.
	Paused *workflow.LaunchPause `json:"paused,omitempty"`
	// Dying is how many processes the runner is ending whose leases were voided.
	Dying int64 `json:"dying,omitempty"`
	// WaitSeconds is how long the daemon may hold the answer when it has
	// nothing to say; 0 for an answer at once, at most 10.
	WaitSeconds float64 `json:"wait_seconds,omitempty"`
	// SignsHash is of what the runner looks for in the words of failed attempts.
	SignsHash string `json:"signs_hash,omitempty"`
}

// LeaseRef names a lease.
type LeaseRef struct {
	JobID   int64 `json:"job_id"`
	Attempt int64 `json:"attempt_id"`
	Fence   int64 `json:"fence"`
}

// Held is a lease that a runner has.
type Held struct {
	LeaseRef
	// StartedMS is when the process was spawned, in milliseconds since the
	// epoch; 0 while the job has not been started.
	StartedMS int64 `json:"started_ms,omitempty"`
	PID       int   `json:"pid,omitempty"`
	// Ending says that the runner is ending it.
	Ending bool `json:"ending,omitempty"`
}

// Report says how an attempt ended.
type Report struct {
	LeaseRef
	StartedMS int64             `json:"started_ms"`
	EndedMS   int64             `json:"ended_ms"`
	Evidence  workflow.Evidence `json:"evidence"`
	// FileTimes are the modification times of output files that are there.
	FileTimes []FileTime `json:"file_times,omitempty"`
}

// FileTime is a file's modification time in seconds since the epoch.
type FileTime struct {
	FileID  int64   `json:"file_id"`
	ModTime float64 `json:"st_mtime"`
}

// Recovered says how a recovery script ended.
type Recovered struct {
	LeaseRef
	ReturnCode int64  `json:"return_code"`
	Error      string `json:"error,omitempty"` // could not run, timed out
	// If it failed: when it ran, and how it ended; nil if nobody saw that.
	StartedMS int64              `json:"started_ms,omitempty"`
	EndedMS   int64              `json:"ended_ms,omitempty"`
	Evidence  *workflow.Evidence `json:"evidence,omitempty"`
}

// Free is what a runner has to offer. Per-node numbers, one entry of Nodes for
// each node that it can place jobs on.
type Free struct {
	Nodes []FreeNode `json:"nodes,omitempty"`
	// Slots is how many more jobs it takes at most in this turn.
	Slots int64 `json:"slots"`
	// TimeLeftSeconds is what the allocation has left less the grace; nil
	// means no end.
	TimeLeftSeconds *int64 `json:"time_left_seconds,omitempty"`
}

// FreeNode is the free part of a node.
type FreeNode struct {
	Name        string `json:"name,omitempty"`
	CPUs        int64  `json:"num_cpus"`
	MemoryBytes int64  `json:"memory_bytes"`
	GPUs        int64  `json:"num_gpus"`
	// Busy says that jobs run there, so it is not for a job that wants whole
	// nodes. The same node may be listed several times: a runner of short jobs
	// asks for some ahead.
	Busy bool `json:"busy,omitempty"`
	// Together says that it is only for jobs that want several nodes.
	Together bool `json:"together,omitempty"`
}

// TurnResponse is what the daemon says in one turn.
type TurnResponse struct {
	Turn  int64 `json:"turn"`
	RunID int64 `json:"run_id"`
	// Results answers Reports and Recovered, in their order.
	Results []ReportResult `json:"results,omitempty"`
	Grants  []Grant        `json:"grants,omitempty"`
	// Voided lists held leases that are no longer the runner's: kill their
	// processes and report nothing more (a late report is kept, without effect).
	// What a canceled workflow's runner holds is not listed: it is ended by
	// OrderCancel and reported.
	Voided []LeaseRef `json:"voided,omitempty"`
	// Cancel lists held leases whose jobs are to be ended (grace, then kill) and
	// reported, or given back if they were not started.
	Cancel []LeaseRef `json:"cancel,omitempty"`
	Orders []Order    `json:"orders,omitempty"`
	// EndTime is the allocation's end where the daemon knows it better.
	EndTime string `json:"end_time,omitempty"` // RFC 3339
	// Complete says that the workflow has ended; Canceled that it was canceled.
	Complete bool `json:"complete,omitempty"`
	Canceled bool `json:"canceled,omitempty"`
	// OpenJobs counts the jobs that are not complete; ClaimableLater says that
	// some of them may still become work for this runner without a decision on
	// those that are held, HeldJobs.
	OpenJobs       int64 `json:"open_jobs"`
	HeldJobs       int64 `json:"held_jobs,omitempty"`
	ClaimableLater bool  `json:"claimable_later"`
	// ClaimsHeld says why nothing of the workflow is granted to anybody; empty if
	// it is.
	ClaimsHeld string `json:"claims_held,omitempty"`
	// WaitsForHost says who has the rest of a host that the runner shares, if there are
	// jobs that it could take but for that.
	WaitsForHost string `json:"waits_for_host,omitempty"`
	// Signs is what to look for from now on; nil if it is what SignsHash names.
	Signs *workflow.Signs `json:"signs,omitempty"`
}

// Report outcomes.
const (
	OutcomeAccepted  = "accepted"  // recorded now
	OutcomeDuplicate = "duplicate" // was recorded before; the same answer again
	OutcomeLate      = "late"      // an old fence: kept, without effect
	OutcomeRefused   = "refused"   // cannot be recorded; Message says why
)

// ReportResult answers one report.
type ReportResult struct {
	LeaseRef
	Outcome string `json:"outcome"`
	Message string `json:"message,omitempty"`
	// Status is the job's status after it.
	Status workflow.JobStatus `json:"status"`
	// Recovery, if not nil, is a recovery script to run now; the lease stays
	// until the runner has reported it in Recovered.
	Recovery *Recovery `json:"recovery,omitempty"`
	// ReturnCode and Cause are what the daemon made of the evidence.
	ReturnCode int64  `json:"return_code"`
	Cause      string `json:"cause,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Recovery is a recovery script to run for a failed attempt.
type Recovery struct {
	Script         string  `json:"script"`
	ReturnCode     int64   `json:"return_code"` // of the failed attempt
	Cause          string  `json:"cause"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
}

// Order is something that a runner must do.
type Order string

// The orders.
const (
	OrderDrain  Order = "drain"  // take nothing new, let jobs end, then leave
	OrderCancel Order = "cancel" // end all jobs (grace, then kill), report, leave
	OrderStop   Order = "stop"   // as cancel, the jobs are given to others
)

// Grant is a job to run, with its lease.
type Grant struct {
	LeaseRef
	Name             string                `json:"name"`
	Command          string                `json:"command"`
	InvocationScript string                `json:"invocation_script,omitempty"`
	Env              map[string]string     `json:"env,omitempty"`  // of the job alone
	Node             string                `json:"node,omitempty"` // where in the allocation
	Requirements     string                `json:"requirements"`   // name; "default" is never enforced
	CPUs             int64                 `json:"num_cpus"`
	GPUs             int64                 `json:"num_gpus,omitempty"`
	Nodes            int64                 `json:"num_nodes"`
	MemoryBytes      int64                 `json:"memory_bytes"`
	RuntimeSeconds   int64                 `json:"runtime_seconds"`
	RunTimeout       *workflow.RunTimeout  `json:"run_timeout,omitempty"`
	Stdio            *workflow.StdioConfig `json:"stdio,omitempty"` // of the job, else the workflow's
	OutputFiles      []GrantFile           `json:"output_files,omitempty"`
	Input            *GrantInput           `json:"input,omitempty"`
	// Compensates: it is of a compensation, and gets the workflow.FailedWorkflow.
	Compensates bool `json:"compensates,omitempty"`
	// Recovery, if not nil: do not run the job, run this script for its failed
	// attempt (the runner that had it lost the order).
	Recovery *Recovery `json:"recovery,omitempty"`
}

// GrantInput is a file to write before the job is started.
type GrantInput struct {
	Variable string          `json:"variable"` // that names the file in the job's environment
	Data     json.RawMessage `json:"data"`
}

// GrantFile is an output file to check for.
type GrantFile struct {
	ID   int64  `json:"id"`
	Path string `json:"path"`
}

// LeaveRequest says goodbye. Leases that the runner still has are voided.
type LeaveRequest struct {
	Reason          string  `json:"reason"`
	DurationSeconds float64 `json:"duration_seconds"`
	SampleCount     int64   `json:"sample_count,omitempty"`
	PeakCPUPercent  float64 `json:"peak_cpu_percent,omitempty"`
	AvgCPUPercent   float64 `json:"avg_cpu_percent,omitempty"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes,omitempty"`
	AvgMemoryBytes  int64   `json:"avg_memory_bytes,omitempty"`
}

// LeaveResponse answers LeaveRequest.
type LeaveResponse struct {
	GivenBack int64 `json:"given_back"` // claimed jobs that are ready again
}
