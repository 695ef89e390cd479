package workflow

// DefaultPriority of a job, and the origins that a job may have besides none.
const (
	DefaultPriority = 0
	OriginRetry     = "retry"
	OriginSpawn     = "spawn"
)

// Phase refines the status pending.
type Phase string

// The phases.
const (
	PhaseNone     Phase = ""
	PhaseRecovery Phase = "recovery" // its runner is running the recovery script
)

// Job is a command with its needs and its place in the graph.
type Job struct {
	ID         int64
	WorkflowID int64
	Name       string
	Command    string
	JobSettings
	Env           map[string]string // effective: the workflow's overlaid by the job's
	Status        JobStatus
	StartTime     *string // RFC 3339; while running
	ComputeNodeID *int64  // while running

	RunIf RunIf

	// The relations, ascending; nil where they were not asked for.
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
	Labels                 []string // sorted, without repeats

	JobOptions
	TorcJob
	StageID *int64 // the stage that it is in; nil: the main one
	ChildID *int64 // the stage that a sub-workflow job stands for
	// UndoesID is the job that this one of a compensation undoes.
	UndoesID *int64

	JobState
}

// JobOptions is what a specification says about how a job is run. A definition, the
// engine and the wire have the same.
type JobOptions struct {
	Stdio      *StdioConfig `json:"stdio,omitempty"` // of the job alone, else the workflow's
	RunTimeout *RunTimeout  `json:"run_timeout,omitempty"`
	Policy     *JobPolicy   `json:"policy,omitempty"` // about its failures
	Login      bool         `json:"login,omitempty"`  // it runs on the daemon's host alone
}

// JobSettings are what users say about a job and what is stored as they said it. A
// specification, a definition, the API, the store and a grant have this struct in
// common: each field is a key of the same name in all of them, and a column of the
// table job (store/row/job_settings.go). All fields are pointers: nil was not given,
// and in an update keeps what is stored.
type JobSettings struct {
	// InvocationScript is put before the command.
	InvocationScript *string `json:"invocation_script,omitempty"`
}

// UpdateSettings overwrites the settings that u has.
func (s *JobSettings) UpdateSettings(u JobSettings) {
	update(&s.InvocationScript, u.InvocationScript)
}

func update[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}

// JobState is what the engine keeps of a job beside its status.
type JobState struct {
	GateID      *int64 // the gate of its set of dependencies; nil if it has none
	Fence       int64  // of its latest lease; only grows
	NotBeforeMS *int64 // ready, but not to be claimed before this time
	Phase       Phase
	// Retries are what the rules have granted in the run, by their keys.
	Retries    map[string]RuleCount
	AvoidNodes []AvoidedNode // where the next attempt does not run
	Hold       *Hold         // while pending_failed
	SkippedBy  *int64        // canceled because of this job's failure
	NotNeeded  bool          // disabled, as nothing failed that it was to run after
	InputHash  string        // see InputHash; empty until initialised
}

// JobUpdate is a change of a job: a nil field is kept. A list that is empty
// but not nil clears. The relations, Env and what only an uninitialised job may
// change are there to be compared with what is stored too.
type JobUpdate struct {
	Name    *string
	Command *string
	JobSettings
	TorcJob
	Env                        map[string]string
	Status                     *JobStatus
	CancelOnBlockingJobFailure *bool // false keeps a condition that runs after failures
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
	Author                     string // who asks; for the log of a classification
}

// RunningJob is a running job with the node that it runs on.
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
