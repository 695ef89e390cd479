package workflow

import (
	"encoding/json"
	"slices"
	"strings"
)

// Definition is a whole workflow as a user wrote it, expanded and checked, before it has
// ids. Jobs refer to each other, to files and to user data by index into the slices of
// the definition. They refer to requirements, handlers and schedulers by name; the empty
// name means none (for requirements, the default). Jobs share values that do not differ,
// as there may be a million of them. The JSON names are those of the API, which transfers
// the lists separately, in chunks.
type Definition struct {
	Name                string            `json:"name"`
	User                string            `json:"user"`
	Description         string            `json:"description,omitempty"`
	Project             string            `json:"project,omitempty"`
	Metadata            json.RawMessage   `json:"metadata,omitempty"` // an object; nil if not given
	Env                 map[string]string `json:"env,omitempty"`
	SubmissionDirectory string            `json:"submission_directory,omitempty"` // absolute
	SpecPath            string            `json:"spec_path,omitempty"`            // the file that it was read from, absolute; empty if there is none

	ComputeNodeWaitForNewJobsSeconds         *int64 `json:"compute_node_wait_for_new_jobs_seconds,omitempty"`
	ComputeNodeIgnoreWorkflowCompletion      *bool  `json:"compute_node_ignore_workflow_completion,omitempty"`
	ComputeNodeWaitForHealthyDatabaseMinutes *int64 `json:"compute_node_wait_for_healthy_database_minutes,omitempty"`
	ComputeNodeMinTimeForNewJobsSeconds      *int64 `json:"compute_node_min_time_for_new_jobs_seconds,omitempty"`
	TorcWorkflow

	UsePendingFailed bool                   `json:"use_pending_failed,omitempty"`
	EnforceRuntime   bool                   `json:"enforce_runtime,omitempty"` // kill a job that exceeds its declared runtime
	ExecutionConfig  *ExecutionConfig       `json:"execution_config,omitempty"`
	ResourceMonitor  *ResourceMonitorConfig `json:"resource_monitor_config,omitempty"`
	SlurmDefaults    json.RawMessage        `json:"slurm_defaults,omitempty"` // an object; nil if not given
	DynamicJobs      *DynamicJobsConfig     `json:"dynamic_jobs,omitempty"`
	Policy           *RunPolicy             `json:"policy,omitempty"`

	Files           []FileDefinition           `json:"-"`
	UserData        []UserDataDefinition       `json:"-"`
	Requirements    []ResourceRequirements     `json:"-"`
	FailureHandlers []FailureHandlerDefinition `json:"-"`
	SlurmSchedulers []SlurmSchedulerDefinition `json:"-"`
	Stages          []StageDefinition          `json:"-"` // numbered from 1; 0 is the main stage
	Jobs            []JobDefinition            `json:"-"`
	Actions         []ActionDefinition         `json:"-"`
}

// JobDefinition is one expanded job.
type JobDefinition struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	JobSettings
	Env            map[string]string `json:"env,omitempty"` // of the job alone; overrides the workflow's
	Priority       int64             `json:"priority,omitempty"`
	Labels         []string          `json:"labels,omitempty"` // sorted, without duplicates
	Requirements   string            `json:"resource_requirements,omitempty"`
	FailureHandler string            `json:"failure_handler,omitempty"`
	Scheduler      string            `json:"scheduler,omitempty"`
	RunIf          RunIf             `json:"run_if,omitempty"`
	JobOptions
	TorcJob
	Stage          int32   `json:"stage,omitempty"`      // the stage it is in; 0: the main one
	Child          int32   `json:"child,omitempty"`      // the stage that a sub-workflow job stands for; 0: none
	Undoes         int32   `json:"undoes,omitempty"`     // the job, numbered from 1, that this job of a compensation undoes; 0: none
	DependsOn      []int32 `json:"depends_on,omitempty"` // jobs of the same stage, ascending
	InputFiles     []int32 `json:"input_files,omitempty"`
	OutputFiles    []int32 `json:"output_files,omitempty"`
	InputUserData  []int32 `json:"input_user_data,omitempty"`
	OutputUserData []int32 `json:"output_user_data,omitempty"`
}

// RunTimeout is timeouts.run of a job: an attempt is signaled after AfterSeconds, and
// killed GraceSeconds later.
type RunTimeout struct {
	AfterSeconds int64 `json:"after_seconds"`
	GraceSeconds int64 `json:"grace_seconds"`
}

// FileDefinition is one expanded file.
type FileDefinition struct {
	Name       string   `json:"name"`
	Path       string   `json:"path"`
	Identifier string   `json:"identifier,omitempty"`
	ModTime    *float64 `json:"st_mtime,omitempty"` // seconds since the epoch; nil if it does not exist or is an output
	Size       *int64   `json:"size,omitempty"`     // in bytes; nil if it is not known
}

// UserDataDefinition is one expanded user data record.
type UserDataDefinition struct {
	Name        string          `json:"name"`
	IsEphemeral bool            `json:"is_ephemeral,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"` // nil if not given
}

// FailureHandlerDefinition is a named list of rules.
type FailureHandlerDefinition struct {
	Name  string        `json:"name"`
	Rules []FailureRule `json:"rules"`
}

// FailureRule is one rule of a failure handler. MaxRetries is the total number of
// attempts, as in torc.
type FailureRule struct {
	ExitCodes         []int64 `json:"exit_codes"`
	MatchAllExitCodes bool    `json:"match_all_exit_codes"`
	RecoveryScript    string  `json:"recovery_script,omitempty"`
	MaxRetries        int64   `json:"max_retries"`
}

// SlurmSchedulerDefinition is the shape of the allocations to request from Slurm.
type SlurmSchedulerDefinition struct {
	Name                 string `json:"name"`
	Account              string `json:"account"`
	Gres                 string `json:"gres,omitempty"`
	Mem                  string `json:"mem,omitempty"`
	Nodes                int64  `json:"nodes"`
	NtasksPerNode        *int64 `json:"ntasks_per_node,omitempty"`
	Partition            string `json:"partition,omitempty"`
	QOS                  string `json:"qos,omitempty"`
	Tmp                  string `json:"tmp,omitempty"`
	Walltime             string `json:"walltime"`
	Extra                string `json:"extra,omitempty"`
	SerializeAllocations bool   `json:"serialize_allocations,omitempty"`
}

// ActionDefinition is something to do when a workflow reaches a certain point.
type ActionDefinition struct {
	TriggerType           string        `json:"trigger_type"`
	ActionType            string        `json:"action_type"`
	Jobs                  []int32       `json:"jobs,omitempty"`      // for on_jobs_ready and on_jobs_complete
	Commands              []string      `json:"commands,omitempty"`  // run_commands
	Scheduler             string        `json:"scheduler,omitempty"` // schedule_nodes
	SchedulerType         string        `json:"scheduler_type,omitempty"`
	NumAllocations        int64         `json:"num_allocations,omitempty"`
	StartOneWorkerPerNode bool          `json:"start_one_worker_per_node,omitempty"`
	MaxParallelJobs       *int64        `json:"max_parallel_jobs,omitempty"`
	Persistent            bool          `json:"persistent,omitempty"`
	AutoSchedule          *AutoSchedule `json:"auto_schedule,omitempty"` // of auto_schedule_on_ready_jobs; nil: the defaults
}

// AutoSchedule holds the limits of an auto_schedule_on_ready_jobs action. A value that is
// 0 or empty means its default; durations are in ISO 8601.
type AutoSchedule struct {
	MinReadyJobs       int64  `json:"min_ready_jobs,omitempty"`
	MaxReadyAge        string `json:"max_ready_age,omitempty"`
	MaxAllocations     int64  `json:"max_allocations,omitempty"`
	MaxSubmitPerMinute int64  `json:"max_submit_per_minute,omitempty"`
	// IdleTimeout is how long a runner without work stays.
	IdleTimeout string `json:"idle_timeout,omitempty"`
	GiveUpAfter int64  `json:"give_up_after,omitempty"`
	// Prefer is time, cost or balanced (the default): whether jobs that end sooner or fewer
	// idle core-hours count more.
	Prefer string `json:"prefer,omitempty"`
}

// What plans of allocations may prefer where they can choose.
const (
	PreferTime     = "time"     // the jobs end as soon as possible
	PreferBalanced = "balanced" // soon, but without much idle time of allocations; the default
	PreferCost     = "cost"     // few idle core-hours, even if the jobs end later
)

// Preferences are the names of all preferences.
func Preferences() []string { return []string{PreferTime, PreferBalanced, PreferCost} }

// ValidatePreference returns an invalid error for a text that is neither empty nor a preference.
func ValidatePreference(prefer string) error {
	if prefer == "" || slices.Contains(Preferences(), prefer) {
		return nil
	}
	return Errorf(CodeInvalid, "prefer is %q; it must be one of %s", prefer, strings.Join(Preferences(), ", "))
}

// RequiredInputs returns the paths of the files that jobs of the definition read and no job
// writes, in the order of its files: they must exist before a run.
func (d *Definition) RequiredInputs() (paths []string) {
	written, read := make([]bool, len(d.Files)), make([]bool, len(d.Files))
	for i := range d.Jobs {
		for _, f := range d.Jobs[i].OutputFiles {
			written[f] = true
		}
		for _, f := range d.Jobs[i].InputFiles {
			read[f] = true
		}
	}
	for i, f := range d.Files {
		if read[i] && !written[i] {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Append adds the lists of another part of the definition.
func (d *Definition) Append(part *Definition) {
	d.Files = append(d.Files, part.Files...)
	d.UserData = append(d.UserData, part.UserData...)
	d.Requirements = append(d.Requirements, part.Requirements...)
	d.FailureHandlers = append(d.FailureHandlers, part.FailureHandlers...)
	d.SlurmSchedulers = append(d.SlurmSchedulers, part.SlurmSchedulers...)
	d.Stages = append(d.Stages, part.Stages...)
	d.Jobs = append(d.Jobs, part.Jobs...)
	d.Actions = append(d.Actions, part.Actions...)
}
