package workflow

// The default priority of a job, and the values of Job.Origin.
const (
	DefaultPriority = 0
	OriginRetry     = "retry"
	OriginSpawn     = "spawn"
	OriginRemoved   = "removed" // a later definition does not have the job
)

// Phase refines the status pending.
type Phase string

// The values of Phase.
const (
	PhaseNone     Phase = ""
	PhaseRecovery Phase = "recovery" // its runner is running the recovery script
)

// Job is a command with its requirements and its place in the graph.
type Job struct {
	ID         int64
	WorkflowID int64
	Name       string
	Command    string
	JobSettings
	Env           map[string]string // the workflow's, overridden by the job's
	Status        JobStatus
	StartTime     *string // RFC 3339; while running
	ComputeNodeID *int64  // while running

	RunIf RunIf

	// The relations, ascending; nil if they were not requested.
	DependsOn      []int64
	InputFiles     []int64
	OutputFiles    []int64
	InputUserData  []int64
	OutputUserData []int64

	ResourceRequirementsID *int64
	SchedulerID            *int64
	FailureHandlerID       *int64
	AttemptID              int64 // 1 + the highest attempt recorded in this run
	Priority               int64
	Origin                 *string  // retry, spawn
	Labels                 []string // sorted, without duplicates

	JobOptions
	TorcJob
	StageID *int64 // the stage it is in; nil: the main one
	ChildID *int64 // the stage that a sub-workflow job stands for
	// UndoesID is the job that this job of a compensation undoes.
	UndoesID *int64

	JobState
}

// JobOptions says how a job is run. Definitions, the engine and the API share it.
type JobOptions struct {
	Stdio      *StdioConfig `json:"stdio,omitempty"` // of this job; nil: the workflow's
	RunTimeout *RunTimeout  `json:"run_timeout,omitempty"`
	Policy     *JobPolicy   `json:"policy,omitempty"` // about its failures
	Login      bool         `json:"login,omitempty"`  // it must run on the daemon's host
}

// JobSettings are settings that are stored as the user gave them. A specification, a
// definition, the API, the store and a grant share this struct: each field is a key of the
// same name in all of them, and a column of the table job (store/row/job_settings.go). All
// fields are pointers: nil means that the user gave no value; in an update nil keeps the
// stored value.
type JobSettings struct {
	// InvocationScript is put in front of the command.
	InvocationScript *string `json:"invocation_script,omitempty"`
}

// UpdateSettings overwrites the settings that are set in u.
func (s *JobSettings) UpdateSettings(u JobSettings) {
	update(&s.InvocationScript, u.InvocationScript)
}

func update[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}

// JobState is what the engine stores about a job in addition to its status.
type JobState struct {
	GateID      *int64 // the gate of its set of dependencies; nil if it has none
	Fence       int64  // of its latest lease; only grows
	NotBeforeMS *int64 // a ready job must not be claimed before this time
	Phase       Phase
	// Retries counts the retries that rules have granted in the run, by the key of the rule.
	Retries    map[string]RuleCount
	AvoidNodes []AvoidedNode // nodes on which the next attempt does not run
	Hold       *Hold         // while pending_failed
	UserHold   *UserHold     // a user keeps it from being claimed
	SkippedBy  *int64        // canceled because this job was not successful
	NotNeeded  bool          // disabled, because it runs only after a failure and there was none
	InputHash  string        // see InputHash; empty until initialized
}

// JobUpdate is a change of a job: a nil field keeps the stored value, and a list that is
// empty but not nil clears it. Some values cannot change, or only before the job is
// initialized; such a value is compared with the stored one.
type JobUpdate struct {
	Name    *string
	Command *string
	JobSettings
	TorcJob
	Env                        map[string]string
	Status                     *JobStatus
	CancelOnBlockingJobFailure *bool // false keeps a RunIf that already runs the job after failures
	RunIf                      *RunIf
	DependsOn                  []int64
	InputFiles                 []int64
	OutputFiles                []int64
	InputUserData              []int64
	OutputUserData             []int64
	ResourceRequirementsID     *int64
	SchedulerID                *int64
	Priority                   *int64
	Labels                     []string
	Author                     string // who requests the change; for the log of a classification
}

// RunningJob is a running job and its node.
type RunningJob struct {
	JobID           int64   `json:"job_id"`
	JobName         string  `json:"job_name"`
	ComputeNodeID   int64   `json:"-"`
	ComputeNodeName string  `json:"compute_node_name"`
	SchedulerType   string  `json:"scheduler_type"`
	SchedulerJobID  *string `json:"scheduler_job_id,omitempty"`
	StartTime       *string `json:"start_time,omitempty"`
	// SilentSeconds is how long its runner has sent no turn, if one is overdue, so that it
	// is unknown whether the job still runs; not in torc.
	SilentSeconds *int64 `json:"silent_seconds,omitempty"`
}

// JobDependency is one edge of the graph.
type JobDependency struct {
	JobID            int64  `json:"job_id"`
	JobName          string `json:"job_name"`
	DependsOnJobID   int64  `json:"depends_on_job_id"`
	DependsOnJobName string `json:"depends_on_job_name"`
	WorkflowID       int64  `json:"workflow_id"`
}
