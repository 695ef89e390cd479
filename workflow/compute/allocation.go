package compute

import "github.com/torc-slurm/torc-slurm/workflow"

// AllocationState is where an allocation is in its life.
type AllocationState string

// The states of an allocation.
const (
	AllocationIntent  AllocationState = "intent"  // to be asked for, or nobody knows whether Slurm has it
	AllocationPending AllocationState = "pending" // Slurm has it
	AllocationActive  AllocationState = "active"  // it has nodes
	AllocationEnded   AllocationState = "ended"
)

// Allocation is one run of one sbatch job. A requeue by Slurm begins another
// run under the same intent and Slurm job id. Times are in ms since the epoch;
// what is not known is 0 or empty.
type Allocation struct {
	ID           int64
	WorkflowID   int64
	RunID        int64
	IntentID     string // 16 hex digits, made before sbatch
	RestartCount int64
	// IsDuplicate says that one sbatch too many made it: it takes no work and
	// is canceled.
	IsDuplicate            bool
	JobName                string
	Cluster                string
	SlurmJobID             int64
	SchedulerConfigID      *int64
	ScheduledComputeNodeID int64 // torc's row
	Request                AllocationRequest
	Why                    string // it was asked for
	State                  AllocationState

	AskedMS  int64 // when sbatch may have run last
	SubmitMS int64
	StartMS  int64
	EndMS    int64
	LimitMS  int64 // when its time is up

	SlurmState  string
	SlurmReason string
	NodeList    string
	ExitCode    string // as sacct writes it

	AbsentMS     int64 // since when squeue does not know it
	OverMS       int64 // since when Slurm ends it
	SupersededMS int64 // since when a later restart is known
	// Taken is why Slurm takes its nodes, if that is known before its end.
	Taken *workflow.SlurmEvidence

	CancelMS     int64 // when its cancellation was decided
	CancelWhy    string
	CancelSentMS int64 // the latest scancel
	CancelTries  int64

	// Refusal is the class of Slurm's no: temporary, limit or permanent. With the
	// cause canceled, it was said after sbatch.
	Refusal    string
	Cause      AllocationCause // of its end
	Confidence workflow.Confidence
	CauseText  string
}

// IsLive reports whether it may have, get or hold nodes.
func (a *Allocation) IsLive() bool { return a.State != AllocationEnded }

// AllocationRequest is what is asked of Slurm. A zero field is not asked for.
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
	// Exclude lists nodes, After the Slurm job that must have ended before.
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

	// ActionID is the action that asks, 0 if none does. Pool is where
	// auto_schedule_on_ready_jobs asks.
	ActionID int64  `json:"action_id,omitempty"`
	Pool     string `json:"pool,omitempty"`

	// Expected is what the plan expected of it; nil: there was no forecast.
	Expected *AllocationExpectation `json:"expected,omitempty"`

	// Offer is what one of its nodes will have to give, as far as it is known.
	Offer AllocationOffer `json:"offer"`
}

// AllocationOffer is what a node of an allocation has to give.
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
	AllocationPreempted     AllocationCause = "preempted"      // others had precedence
	AllocationRequeued      AllocationCause = "requeued"       // put back into the queue, nobody knows why
	AllocationCanceled      AllocationCause = "canceled"       // by us
	AllocationCanceledUser  AllocationCause = "canceled_user"  // by its owner, not by us
	AllocationCanceledAdmin AllocationCause = "canceled_admin" // by somebody else
	AllocationRefused       AllocationCause = "refused"        // sbatch said no
	AllocationNever         AllocationCause = "never"          // nobody knows of it: sbatch did not make it
	AllocationLost          AllocationCause = "lost"           // nobody can say
)

// AllocationEnd is how an allocation ended.
type AllocationEnd struct {
	Cause      AllocationCause
	Confidence workflow.Confidence
	Text       string // the evidence in one line that a person can read
	EndMS      int64  // 0: now
	Refusal    string // see Allocation
	NodeList   string // if it is not known yet
	// Slurm is what Slurm says of it; it decides what becomes of the attempts
	// that ran.
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
	// Of an end: attempts that it ended, and claimed jobs that are ready again.
	AttemptsEnded int64 `json:"attempts_ended,omitempty"`
	JobsReturned  int64 `json:"jobs_returned,omitempty"`
}
