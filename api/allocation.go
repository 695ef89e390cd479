package api

import "github.com/torc-slurm/torc-slurm/workflow/compute"

// Allocation is one run of one sbatch job of the daemon. Times are in milliseconds since
// the epoch, 0 if unknown.
type Allocation struct {
	ID                int64  `json:"id"`
	WorkflowID        int64  `json:"workflow_id"`
	RunID             int64  `json:"run_id"`
	IntentID          string `json:"intent_id"`
	JobName           string `json:"job_name"`
	State             string `json:"state"` // intent, pending, active, ended
	Cluster           string `json:"cluster,omitempty"`
	SlurmJobID        int64  `json:"slurm_job_id,omitempty"`
	RestartCount      int64  `json:"restart_count"`
	SlurmState        string `json:"slurm_state,omitempty"`
	SlurmReason       string `json:"slurm_reason,omitempty"`
	NodeList          string `json:"node_list,omitempty"`
	SchedulerConfigID *int64 `json:"scheduler_config_id,omitempty"`
	Account           string `json:"account,omitempty"`
	Partition         string `json:"partition,omitempty"`
	QOS               string `json:"qos,omitempty"`
	Nodes             int64  `json:"nodes"`
	WalltimeSeconds   int64  `json:"walltime_seconds,omitempty"`
	Why               string `json:"why"` // it was requested
	// Expected is what the plan expected that requested it; absent without a forecast.
	Expected  *compute.AllocationExpectation `json:"expected,omitempty"`
	AskedMS   int64                          `json:"asked_ms"`
	SubmitMS  int64                          `json:"submit_ms,omitempty"`
	StartMS   int64                          `json:"start_ms,omitempty"`
	EndMS     int64                          `json:"end_ms,omitempty"`
	LimitMS   int64                          `json:"limit_ms,omitempty"`  // its time limit
	CancelMS  int64                          `json:"cancel_ms,omitempty"` // when its cancellation was decided
	CancelWhy string                         `json:"cancel_why,omitempty"`
	// RunnersLeft says that it is active, but all its runners have left, so that it will
	// end.
	RunnersLeft bool   `json:"runners_left,omitempty"`
	Cause       string `json:"cause,omitempty"` // of its end
	Confidence  string `json:"confidence,omitempty"`
	CauseText   string `json:"cause_text,omitempty"`
	ExitCode    string `json:"exit_code,omitempty"`
}

// FromAllocation returns an allocation as in the API.
func FromAllocation(a compute.Allocation) Allocation {
	return Allocation{
		ID: a.ID, WorkflowID: a.WorkflowID, RunID: a.RunID, IntentID: a.IntentID, JobName: a.JobName, State: string(a.State),
		Cluster: a.Cluster, SlurmJobID: a.SlurmJobID, RestartCount: a.RestartCount, SlurmState: a.SlurmState, SlurmReason: a.SlurmReason,
		NodeList: a.NodeList, SchedulerConfigID: a.SchedulerConfigID, Account: a.Request.Account, Partition: a.Request.Partition,
		QOS: a.Request.QOS, Nodes: a.Request.Nodes, WalltimeSeconds: a.Request.WalltimeS, Why: a.Why, Expected: a.Request.Expected,
		AskedMS: a.AskedMS, SubmitMS: a.SubmitMS, StartMS: a.StartMS, EndMS: a.EndMS, LimitMS: a.LimitMS,
		CancelMS: a.CancelMS, CancelWhy: a.CancelWhy,
		Cause: string(a.Cause), Confidence: string(a.Confidence), CauseText: a.CauseText, ExitCode: a.ExitCode,
	}
}

// AllocateRequest asks for allocations for a workflow.
type AllocateRequest struct {
	SchedulerConfigID int64    `json:"scheduler_config_id"`
	Count             int64    `json:"count,omitempty"` // 1 if 0
	OutputDir         string   `json:"output_dir"`      // absolute, on a file system of the nodes
	MaxParallelJobs   int64    `json:"max_parallel_jobs,omitempty"`
	OneRunnerPerNode  bool     `json:"start_one_worker_per_node,omitempty"`
	Labels            []string `json:"labels,omitempty"`
	Why               string   `json:"why,omitempty"` // for people
	// SkipChecks requests allocations even if jobs of the workflow fit none.
	SkipChecks bool `json:"skip_checks,omitempty"`
	// DryRun only returns what would be requested. Slurm is not asked.
	DryRun bool `json:"dry_run,omitempty"`
}

// AllocateResponse has the requested allocations. Rejected, if not empty, says why they are
// fewer than wanted.
type AllocateResponse struct {
	Items    []Allocation `json:"items"`
	Rejected string       `json:"refused,omitempty"`
	// Proposed is what a dry run would request; absent otherwise.
	Proposed *PlannedAllocations `json:"proposed,omitempty"`
	// NodeSeconds is how long the proposed allocations may hold nodes in all, at most; 0 if
	// they have no time limit.
	NodeSeconds int64 `json:"node_seconds,omitempty"`
}

// QueuedAllocation is an allocation in Slurm's queue, with the jobs that run in it.
type QueuedAllocation struct {
	Allocation
	WorkflowName     string `json:"workflow_name"`
	ClaimsHeld       string `json:"claims_held,omitempty"`        // why no job of the workflow is claimed
	ReasonText       string `json:"reason_text,omitempty"`        // why it waits, in words
	EstimatedStartMS int64  `json:"estimated_start_ms,omitempty"` // Slurm's estimate, 0 if there is none
	ExpectedStartMS  int64  `json:"expected_start_ms,omitempty"`  // of a pending one: Slurm's estimate, else the daemon's
	Runners          int64  `json:"runners"`                      // that have not left
	JobsRunning      int64  `json:"jobs_running"`
	AttemptsDone     int64  `json:"attempts_completed"`
	AttemptsFailed   int64  `json:"attempts_failed"`
}

// AllocationQueue is the answer to GET /allocations. PolledMS is when Slurm was last
// polled, 0 if it was not; Stale, if not empty, says why the data is older than
// requested.
type AllocationQueue struct {
	Items    []QueuedAllocation `json:"items"`
	PolledMS int64              `json:"looked_ms,omitempty"`
	Stale    string             `json:"stale,omitempty"`
}
