package compute

import "github.com/torc-slurm/torc-slurm/workflow"

// AllocationState is the state of an allocation.
type AllocationState string

// The states of an allocation.
const (
	AllocationIntent  AllocationState = "intent"  // to be requested, or it is unknown whether Slurm has it
	AllocationPending AllocationState = "pending" // Slurm has it in its queue
	AllocationActive  AllocationState = "active"  // it has nodes
	AllocationEnded   AllocationState = "ended"
)

// Allocation is one start of one sbatch job. If Slurm requeues the job, another Allocation
// with the same intent and Slurm job id follows. Times are in ms since the epoch; unknown
// values are 0 or empty.
type Allocation struct {
	ID           int64
	WorkflowID   int64
	RunID        int64
	IntentID     string // 16 hex digits, generated before sbatch runs
	RestartCount int64
	// IsDuplicate says that sbatch ran twice for the intent: this allocation takes no
	// work and is canceled.
	IsDuplicate            bool
	JobName                string
	Cluster                string
	SlurmJobID             int64
	SchedulerConfigID      *int64
	ScheduledComputeNodeID int64 // the row for torc's clients
	Request                AllocationRequest
	Why                    string // why it was requested
	State                  AllocationState

	AskedMS  int64 // when sbatch may last have run
	SubmitMS int64
	StartMS  int64
	EndMS    int64
	LimitMS  int64 // when its time limit ends

	SlurmState  string
	SlurmReason string
	NodeList    string
	ExitCode    string // as sacct writes it

	AbsentMS     int64 // since when squeue has not listed it
	OverMS       int64 // since when Slurm has been ending it
	SupersededMS int64 // since when a later restart has been known
	// NodeLoss is why Slurm takes its nodes away, if that is known before its end.
	NodeLoss *workflow.SlurmEvidence

	CancelMS     int64 // when its cancellation was decided
	CancelWhy    string
	CancelSentMS int64 // the latest scancel
	CancelTries  int64

	// Refusal is the class of Slurm's rejection: temporary, limit or permanent. With the
	// cause canceled, Slurm rejected it after sbatch had succeeded.
	Refusal    string
	Cause      AllocationCause // of its end
	Confidence workflow.Confidence
	CauseText  string
}

// IsLive reports whether the allocation has not ended, so that it may have or get nodes.
func (a *Allocation) IsLive() bool { return a.State != AllocationEnded }

// AllocationRequest is what is requested from Slurm. A zero field is not part of the
// request.
type AllocationRequest struct {
	Account       string `json:"account,omitempty"`
	Partition     string `json:"partition,omitempty"`
	QOS           string `json:"qos,omitempty"`
	Nodes         int64  `json:"nodes"`
	NtasksPerNode int64  `json:"ntasks_per_node,omitempty"`
	CPUsPerNode   int64  `json:"cpus_per_node,omitempty"`
	Mem           string `json:"mem,omitempty"` // per node, as sbatch takes it
	Gres          string `json:"gres,omitempty"`
	Tmp           string `json:"tmp,omitempty"`
	WalltimeS     int64  `json:"walltime_s"`
	// Exclude lists nodes to avoid. After is the Slurm job that must have ended before.
	Exclude []string `json:"exclude,omitempty"`
	After   int64    `json:"after,omitempty"`
	Extra   string   `json:"extra,omitempty"` // more options of sbatch, as the user wrote them

	// OutputDir is where the runners and Slurm write, absolute.
	OutputDir        string   `json:"output_dir,omitempty"`
	OneRunnerPerNode bool     `json:"one_runner_per_node,omitempty"`
	SrunMPI          string   `json:"srun_mpi,omitempty"`
	MaxParallelJobs  int64    `json:"max_parallel_jobs,omitempty"`
	Labels           []string `json:"labels,omitempty"`
	IdleTimeoutS     int64    `json:"idle_timeout_s,omitempty"`

	// ActionID is the action that requests it, 0 if none does. Pool is the pool in which
	// auto_schedule_on_ready_jobs requests it.
	ActionID int64  `json:"action_id,omitempty"`
	Pool     string `json:"pool,omitempty"`

	// Expected is what the plan expected of it; nil: there was no forecast.
	Expected *AllocationExpectation `json:"expected,omitempty"`

	// Offer is what one of its nodes will offer, as far as that is known.
	Offer AllocationOffer `json:"offer"`
}

// AllocationOffer is what a node of an allocation offers.
type AllocationOffer struct {
	CPUs        int64 `json:"cpus,omitempty"`
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	GPUs        int64 `json:"gpus,omitempty"`
}

// AllocationCause names why an allocation ended.
type AllocationCause string

// The causes of an allocation's end.
const (
	AllocationDone          AllocationCause = "done"           // its runners left with success
	AllocationFailed        AllocationCause = "failed"         // its script or a runner failed
	AllocationOOM           AllocationCause = "oom"            // out of memory
	AllocationWalltime      AllocationCause = "walltime"       // its time ran out
	AllocationNodeFail      AllocationCause = "node_fail"      // a node failed, or did not boot
	AllocationPreempted     AllocationCause = "preempted"      // jobs with precedence took its nodes
	AllocationRequeued      AllocationCause = "requeued"       // put back into the queue for an unknown reason
	AllocationCanceled      AllocationCause = "canceled"       // by us
	AllocationCanceledUser  AllocationCause = "canceled_user"  // by its owner, not by us
	AllocationCanceledAdmin AllocationCause = "canceled_admin" // by another user
	AllocationRefused       AllocationCause = "refused"        // sbatch rejected it
	AllocationNever         AllocationCause = "never"          // Slurm does not know it: sbatch did not create it
	AllocationLost          AllocationCause = "lost"           // unknown
)

// AllocationEnd is how an allocation ended.
type AllocationEnd struct {
	Cause      AllocationCause
	Confidence workflow.Confidence
	Text       string // the evidence in one line, for users
	EndMS      int64  // 0: now
	Refusal    string // see Allocation
	NodeList   string // if it was not known before
	// Slurm is what Slurm reports about it; it decides how the running attempts are
	// classified.
	Slurm workflow.SlurmEvidence
}

// The types of the events of allocations.
const (
	EventAllocationAsked     workflow.EventType = "allocation_asked"
	EventAllocationSubmitted workflow.EventType = "allocation_submitted"
	EventAllocationActive    workflow.EventType = "allocation_active"
	EventAllocationRequeued  workflow.EventType = "allocation_requeued" // by Slurm, which restarts it
	EventAllocationCanceling workflow.EventType = "allocation_canceling"
	EventAllocationEnded     workflow.EventType = "allocation_ended"
)

// AllocationPayload is the data of the events of allocations.
type AllocationPayload struct {
	Category     string              `json:"category"` // scheduler
	AllocationID int64               `json:"allocation_id"`
	SlurmJobID   int64               `json:"slurm_job_id,omitempty"`
	RestartCount int64               `json:"restart_count,omitempty"`
	State        AllocationState     `json:"state"`
	SlurmState   string              `json:"slurm_state,omitempty"`
	NodeList     string              `json:"node_list,omitempty"`
	Cause        AllocationCause     `json:"cause,omitempty"`
	Confidence   workflow.Confidence `json:"confidence,omitempty"`
	Reason       string              `json:"reason"`
	// Only for EventAllocationEnded: the number of attempts that it ended, and of claimed
	// jobs that are ready again.
	AttemptsEnded int64 `json:"attempts_ended,omitempty"`
	JobsReturned  int64 `json:"jobs_returned,omitempty"`
}
