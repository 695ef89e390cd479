package workflow

import "encoding/json"

// Definition is a whole workflow as a user wrote it, expanded and checked,
// before it has ids. Jobs refer to each other, to files and to user data by
// index into the slices of the definition; requirements, handlers and
// schedulers are referred to by name, the empty name meaning none (the default
// requirement for jobs). A million jobs share what does not differ.
type Definition struct {
	Name                string
	User                string
	Description         string
	Project             string
	Metadata            json.RawMessage // an object; nil if not given
	Env                 map[string]string
	SubmissionDirectory string // absolute
	AccessGroups        []string

	ComputeNodeWaitForNewJobsSeconds         *int64
	ComputeNodeIgnoreWorkflowCompletion      *bool
	ComputeNodeWaitForHealthyDatabaseMinutes *int64
	ComputeNodeMinTimeForNewJobsSeconds      *int64
	ComputeNodeExpirationBufferSeconds       *int64

	UsePendingFailed bool
	EnableROCrate    bool
	EnforceRuntime   bool // kill a job that exceeds its declared runtime
	ExecutionConfig  *ExecutionConfig
	ResourceMonitor  *ResourceMonitorConfig
	SlurmDefaults    json.RawMessage // an object; nil if not given
	DynamicJobs      *DynamicJobsConfig
	Policy           *RunPolicy

	Files           []FileDefinition
	UserData        []UserDataDefinition
	Requirements    []ResourceRequirements
	FailureHandlers []FailureHandlerDefinition
	SlurmSchedulers []SlurmSchedulerDefinition
	Stages          []StageDefinition // numbered from 1; 0 is the main one
	Jobs            []JobDefinition
	Actions         []ActionDefinition
}

// JobDefinition is one expanded job.
type JobDefinition struct {
	Name             string
	Command          string
	InvocationScript string
	Env              map[string]string // of the job alone; overlays the workflow's
	Priority         int64
	Labels           []string // sorted, without repeats
	Requirements     string
	FailureHandler   string
	Scheduler        string
	RunIf            RunIf
	Stdio            *StdioConfig
	RunTimeout       *RunTimeout
	Policy           *JobPolicy
	Login            bool    // it runs on the daemon's host alone
	Stage            int32   // that it is in; 0: the main one
	Child            int32   // the stage that a sub-workflow job stands for; 0: none
	Undoes           int32   // the job, numbered from 1, that this one of a compensation undoes; 0: none
	DependsOn        []int32 // jobs of the same stage, ascending
	InputFiles       []int32
	OutputFiles      []int32
	InputUserData    []int32
	OutputUserData   []int32
}

// RunTimeout is timeouts.run of a job: one attempt may take After seconds, is
// then signalled, and killed Grace seconds later.
type RunTimeout struct {
	AfterSeconds int64 `json:"after_seconds"`
	GraceSeconds int64 `json:"grace_seconds"`
}

// FileDefinition is one expanded file.
type FileDefinition struct {
	Name       string
	Path       string
	Identifier string
	ModTime    *float64 // seconds since the epoch; nil if not there or an output
}

// UserDataDefinition is one expanded user data record.
type UserDataDefinition struct {
	Name        string
	IsEphemeral bool
	Data        json.RawMessage // nil if not given
}

// FailureHandlerDefinition is a named list of rules.
type FailureHandlerDefinition struct {
	Name  string
	Rules []FailureRule
}

// FailureRule is one rule of a failure handler. MaxRetries is torc's: the total
// number of attempts.
type FailureRule struct {
	ExitCodes         []int64 `json:"exit_codes"`
	MatchAllExitCodes bool    `json:"match_all_exit_codes"`
	RecoveryScript    string  `json:"recovery_script,omitempty"`
	MaxRetries        int64   `json:"max_retries"`
}

// SlurmSchedulerDefinition is the shape of an allocation to ask Slurm for.
type SlurmSchedulerDefinition struct {
	Name                 string
	Account              string
	Gres                 string
	Mem                  string
	Nodes                int64
	NtasksPerNode        *int64
	Partition            string
	QOS                  string
	Tmp                  string
	Walltime             string
	Extra                string
	SerializeAllocations bool
}

// ActionDefinition is something to do at a point of the workflow's life.
type ActionDefinition struct {
	TriggerType           string
	ActionType            string
	Jobs                  []int32  // for on_jobs_ready and on_jobs_complete
	Commands              []string // run_commands
	Scheduler             string   // schedule_nodes
	SchedulerType         string
	NumAllocations        int64
	StartOneWorkerPerNode bool
	MaxParallelJobs       *int64
	Persistent            bool
	AutoSchedule          *AutoSchedule // of auto_schedule_on_ready_jobs; nil: the defaults
}
