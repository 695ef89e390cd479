package spec

import (
	"bytes"
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Document is a workflow specification as a user writes it. Its Go types, their
// json and jsonschema tags and their comments are the one description of the
// format: the reader, the JSON Schema and the mapping from KDL are derived from
// them. A key without omitempty is required.
//
// A program may also build a Document and pass its JSON to Parse.
type Document struct {
	located

	// Name of the workflow.
	Name string `json:"name"`
	// User is accepted for compatibility; the owner is always the one who creates the workflow.
	User string `json:"user,omitempty"`
	// Description says what the workflow is for.
	Description string `json:"description,omitempty"`
	// Project is a label that groups workflows.
	Project string `json:"project,omitempty"`
	// Metadata is any object; it is stored with the workflow.
	Metadata json.RawMessage `json:"metadata,omitempty" jsonschema:"type=object"`
	// Variables are constants: {name} is replaced by the value in every string of the file.
	Variables map[string]string `json:"variables,omitempty"`
	// Parameters are sweep axes that jobs, files and user data share with use_parameters.
	Parameters Parameters `json:"parameters,omitempty"`
	// ParametersFile is a table (.csv, .json, .jsonl) that items share with use_parameters_file.
	ParametersFile string `json:"parameters_file,omitempty"`
	// Env is exported to every job.
	Env map[string]string `json:"env,omitempty"`

	// Jobs are the commands of the workflow.
	Jobs []*Job `json:"jobs"`
	// Files are what jobs read and write; they order the jobs.
	Files []*File `json:"files,omitempty"`
	// UserData are named JSON values that jobs read and write; they order the jobs.
	UserData []*UserData `json:"user_data,omitempty"`
	// ResourceRequirements are named sizes of jobs.
	ResourceRequirements []*ResourceRequirements `json:"resource_requirements,omitempty"`
	// FailureHandlers are named lists of rules for failed jobs.
	FailureHandlers []*FailureHandler `json:"failure_handlers,omitempty"`
	// AutoSchedule: if false, only the allocations of schedule_nodes actions are requested, once,
	// after the workflow is submitted. Otherwise jobs that lose their allocation or are retried
	// get new allocations of the same scheduler.
	AutoSchedule *bool `json:"auto_schedule,omitempty"`
	// RetryPolicies apply to failures of all jobs, after the policies of the jobs themselves:
	// names of stored policies, or policies.
	RetryPolicies []workflow.PolicyRef `json:"retry_policies,omitempty"`
	// GlobalMaxRetries limits the counted retries of each job in a run, no matter which policy allows them; 20 by default.
	GlobalMaxRetries *int64 `json:"global_max_retries,omitempty" jsonschema:"minimum=0"`
	// MaxRetriesTotal limits the counted retries of all jobs in a run together.
	MaxRetriesTotal *int64 `json:"max_retries_total,omitempty" jsonschema:"minimum=0"`
	// CancelSiblingsOn has rules for failed jobs: if a rule applies to a job that has failed
	// after its last retry, the other running jobs are ended.
	CancelSiblingsOn []workflow.SiblingRule `json:"cancel_siblings_on,omitempty"`
	// FailureCategories classify failed attempts by their output or by how they ended; the
	// first match applies.
	FailureCategories []workflow.FailureCategory `json:"failure_categories,omitempty"`
	// MaxFailures is how many jobs may fail for good before no more jobs are started.
	MaxFailures *int64 `json:"max_failures,omitempty" jsonschema:"minimum=1"`
	// CircuitBreakers stop jobs after repeated failures on a node, of a category, or in the
	// workflow.
	CircuitBreakers []workflow.CircuitBreaker `json:"circuit_breakers,omitempty"`
	// End says when a run is successful, and what runs at its end.
	End *workflow.EndPolicy `json:"end,omitempty"`
	// Deadline is how long a run may last.
	Deadline *workflow.Deadline `json:"deadline,omitempty"`
	// ClassifyTimeout is how long held jobs wait for a classification, unless a rule sets another time; the default is that of the site, or no limit.
	ClassifyTimeout *workflow.HoldLimit `json:"classify_timeout,omitempty"`
	// Classifier makes the daemon ask an agent about held jobs; see use_pending_failed.
	Classifier *workflow.ClassifierPolicy `json:"classifier,omitempty"`
	// OnFailure undoes what an unsuccessful run has done.
	OnFailure *OnFailure `json:"on_failure,omitempty"`
	// Notify says who is notified of which alerts.
	Notify *workflow.NotifyPolicy `json:"notify,omitempty"`
	// SlurmSchedulers are the shapes of allocations that can be requested from Slurm.
	SlurmSchedulers []*SlurmScheduler `json:"slurm_schedulers,omitempty"`
	// Actions are executed at certain points of a workflow.
	Actions []*Action `json:"actions,omitempty"`

	// SlurmDefaults are sbatch options (long names without dashes) for every allocation.
	SlurmDefaults json.RawMessage `json:"slurm_defaults,omitempty" jsonschema:"type=object"`
	// ResourceMonitor says what is measured while jobs run.
	ResourceMonitor *ResourceMonitor `json:"resource_monitor,omitempty"`
	// ExecutionConfig says how jobs are run and ended.
	ExecutionConfig *ExecutionConfig `json:"execution_config,omitempty"`
	// DynamicJobs limits the jobs that running jobs may add.
	DynamicJobs *DynamicJobs `json:"dynamic_jobs,omitempty"`
	// UsePendingFailed holds a failed job that no rule covers for a decision.
	UsePendingFailed bool `json:"use_pending_failed,omitempty"`
	// EnforceRuntime kills a job that runs longer than the runtime of its resource requirements.
	EnforceRuntime bool `json:"enforce_runtime,omitempty"`

	// ComputeNodeWaitForNewJobsSeconds is how long an idle runner waits for jobs before it exits.
	ComputeNodeWaitForNewJobsSeconds *int64 `json:"compute_node_wait_for_new_jobs_seconds,omitempty" jsonschema:"minimum=0"`
	// ComputeNodeIgnoreWorkflowCompletion keeps runners running after the workflow has ended.
	ComputeNodeIgnoreWorkflowCompletion *bool `json:"compute_node_ignore_workflow_completion,omitempty"`
	// ComputeNodeWaitForHealthyDatabaseMinutes is how long runners wait for a server that does not answer.
	ComputeNodeWaitForHealthyDatabaseMinutes *int64 `json:"compute_node_wait_for_healthy_database_minutes,omitempty" jsonschema:"minimum=0"`

	workflow.TorcWorkflow
}

// Sweep is how an item becomes many: its own axes, shared axes, or a table.
type Sweep struct {
	// Parameters are the item's own axes; they replace the shared ones.
	Parameters Parameters `json:"parameters,omitempty"`
	// ParameterMode combines axes: every combination (product) or element by element (zip).
	ParameterMode string `json:"parameter_mode,omitempty" jsonschema:"enum=product,enum=zip"`
	// UseParameters names the shared axes to use.
	UseParameters []string `json:"use_parameters,omitempty"`
	// ParametersFile is a table (.csv, .json, .jsonl): one instance per row.
	ParametersFile string `json:"parameters_file,omitempty"`
	// UseParametersFile expands over the table of the workflow.
	UseParametersFile *bool `json:"use_parameters_file,omitempty"`
}

// Job is one command, or a family of them if it has parameters.
type Job struct {
	located

	// Name of the job; unique after expansion.
	Name string `json:"name"`
	// Command is run by bash -c. A job has either a command or a workflow.
	Command string `json:"command,omitempty"`
	// Workflow is the file of a specification, relative to this one, whose jobs run
	// in place of a command. The job ends as they do. Its parameters are variables
	// there.
	Workflow string `json:"workflow,omitempty"`
	workflow.JobSettings
	// Env is exported to the job; it takes precedence over the workflow's env.
	Env map[string]string `json:"env,omitempty"`
	// Priority: jobs with a higher priority start first.
	Priority *int64 `json:"priority,omitempty" jsonschema:"minimum=0"`
	// Labels: only runners that have all of these labels run the job.
	Labels []string `json:"labels,omitempty"`
	// ResourceRequirements names what the job needs.
	ResourceRequirements string `json:"resource_requirements,omitempty"`
	// FailureHandler names the rules that apply when the job fails.
	FailureHandler string `json:"failure_handler,omitempty"`
	// RetryPolicies apply to failures that no rule of the failure handler covers: names of
	// stored policies, or policies.
	RetryPolicies []workflow.PolicyRef `json:"retry_policies,omitempty"`
	// Scheduler names the slurm_scheduler whose allocations run the job.
	Scheduler string `json:"scheduler,omitempty"`
	// RunIf says when the job runs: after success of all jobs that it depends on (the default;
	// otherwise it is canceled), always, or only after a failure of one of them (otherwise it
	// is disabled).
	RunIf string `json:"run_if,omitempty" jsonschema:"enum=success,enum=always,enum=failure"`
	// CancelOnBlockingJobFailure: false is the same as run_if always, true as run_if success.
	CancelOnBlockingJobFailure *bool `json:"cancel_on_blocking_job_failure,omitempty"`
	workflow.TorcJob
	// Stdio says which output of the job is kept.
	Stdio *Stdio `json:"stdio,omitempty"`
	// Timeouts limit how long the job may take.
	Timeouts *workflow.Timeouts `json:"timeouts,omitempty"`
	// Undo is a command that undoes what the job did, if the run is not successful
	// and the job has started; see on_failure.
	Undo string `json:"undo,omitempty"`

	// DependsOn names jobs that must end before this one starts.
	DependsOn []string `json:"depends_on,omitempty"`
	// DependsOnRegexes select such jobs by patterns.
	DependsOnRegexes []string `json:"depends_on_regexes,omitempty"`
	// InputFiles names files that the job reads.
	InputFiles []string `json:"input_files,omitempty"`
	// InputFileRegexes select such files by patterns.
	InputFileRegexes []string `json:"input_file_regexes,omitempty"`
	// OutputFiles names files that the job writes.
	OutputFiles []string `json:"output_files,omitempty"`
	// OutputFileRegexes select such files by patterns.
	OutputFileRegexes []string `json:"output_file_regexes,omitempty"`
	// InputUserData names user data that the job reads.
	InputUserData []string `json:"input_user_data,omitempty"`
	// InputUserDataRegexes select such user data by patterns.
	InputUserDataRegexes []string `json:"input_user_data_regexes,omitempty"`
	// OutputUserData names user data that the job writes.
	OutputUserData []string `json:"output_user_data,omitempty"`
	// OutputUserDataRegexes select such user data by patterns.
	OutputUserDataRegexes []string `json:"output_user_data_regexes,omitempty"`

	Sweep
}

// File is a file, or a family of them if it has parameters.
type File struct {
	located

	// Name by which jobs refer to the file.
	Name string `json:"name"`
	// Path of the file.
	Path string `json:"path"`
	// Identifier is the RO-Crate @id of the file.
	Identifier *string `json:"identifier,omitempty"`
	// When the file was last changed, in seconds since 1970; normally left out.
	ModTime *float64 `json:"st_mtime,omitempty"`

	Sweep
}

// UserData is a named JSON value, or a family of them if it has parameters.
type UserData struct {
	located

	// Name by which jobs refer to the value.
	Name string `json:"name,omitempty"`
	// Data is any JSON value; templates are filled in in its strings.
	Data json.RawMessage `json:"data,omitempty"`
	// IsEphemeral marks a value that matters only while the workflow runs.
	IsEphemeral bool `json:"is_ephemeral,omitempty"`

	Sweep
}

// ResourceRequirements is what a job needs on each of its nodes.
type ResourceRequirements struct {
	located

	// Name by which jobs refer to the requirements.
	Name string `json:"name"`
	// NumCPUs is the number of CPUs.
	NumCPUs int64 `json:"num_cpus" jsonschema:"minimum=1"`
	// Memory is a whole number with an optional k, m, g or t, for example 4g.
	Memory string `json:"memory"`
	// NumGPUs is the number of GPUs.
	NumGPUs int64 `json:"num_gpus,omitempty" jsonschema:"minimum=0"`
	// NumNodes is the number of nodes.
	NumNodes *int64 `json:"num_nodes,omitempty" jsonschema:"minimum=1"`
	// Runtime is a duration, for example 30m, 1h30m, 2d, 01:30:00, or in ISO 8601 PT30M.
	Runtime string `json:"runtime,omitempty"`
}

// FailureHandler is a named list of rules; the first match applies.
type FailureHandler struct {
	located

	// Name by which jobs refer to the handler.
	Name string `json:"name"`
	// Rules say what to do for which exit code.
	Rules []*FailureRule `json:"rules"`
}

// FailureRule says what to do for some exit codes.
type FailureRule struct {
	located

	// ExitCodes to which the rule applies.
	ExitCodes []int64 `json:"exit_codes,omitempty"`
	// MatchAllExitCodes applies the rule to all exit codes that no other rule names.
	MatchAllExitCodes bool `json:"match_all_exit_codes,omitempty"`
	// RecoveryScript runs before the next attempt.
	RecoveryScript string `json:"recovery_script,omitempty"`
	// MaxRetries is the total number of attempts.
	MaxRetries *int64 `json:"max_retries,omitempty" jsonschema:"minimum=0"`
}

// SlurmScheduler is the shape of an allocation.
type SlurmScheduler struct {
	located

	// Name by which jobs and actions refer to it.
	Name string `json:"name,omitempty"`
	// Account to charge.
	Account string `json:"account"`
	// Nodes of one allocation.
	Nodes *int64 `json:"nodes,omitempty" jsonschema:"minimum=1"`
	// Walltime in Slurm's notation, for example 04:00:00.
	Walltime string `json:"walltime,omitempty"`
	// Partition to use.
	Partition string `json:"partition,omitempty"`
	// QOS to use.
	QOS string `json:"qos,omitempty"`
	// Gres, for example gpu:2.
	Gres string `json:"gres,omitempty"`
	// Mem is the memory per node, for example 180g.
	Mem string `json:"mem,omitempty"`
	// Tmp is the local disk per node.
	Tmp string `json:"tmp,omitempty"`
	// Extra is literal text after the last #SBATCH.
	Extra string `json:"extra,omitempty"`
	// NtasksPerNode is sbatch's --ntasks-per-node.
	NtasksPerNode *int64 `json:"ntasks_per_node,omitempty" jsonschema:"minimum=1"`
	// SerializeAllocations runs the allocations one after another.
	SerializeAllocations bool `json:"serialize_allocations,omitempty"`
}

// Action is something to do at a certain point of a workflow.
type Action struct {
	located

	// TriggerType says when.
	TriggerType string `json:"trigger_type" jsonschema:"enum=on_workflow_start,enum=on_workflow_complete,enum=on_worker_start,enum=on_worker_complete,enum=on_jobs_ready,enum=on_jobs_complete,enum=auto_schedule_on_ready_jobs"`
	// ActionType says what; auto_schedule_on_ready_jobs does not need it.
	ActionType string `json:"action_type,omitempty" jsonschema:"enum=run_commands,enum=schedule_nodes"`
	// Jobs that on_jobs_ready and on_jobs_complete wait for.
	Jobs []string `json:"jobs,omitempty"`
	// JobNameRegexes select such jobs by patterns.
	JobNameRegexes []string `json:"job_name_regexes,omitempty"`
	// Commands of run_commands.
	Commands []string `json:"commands,omitempty"`
	// Scheduler of schedule_nodes. Without one, auto_schedule_on_ready_jobs chooses the
	// partition and the size of allocations from what the site offers.
	Scheduler string `json:"scheduler,omitempty"`
	// SchedulerType of schedule_nodes.
	SchedulerType string `json:"scheduler_type,omitempty"`
	// NumAllocations to request.
	NumAllocations *int64 `json:"num_allocations,omitempty" jsonschema:"minimum=1"`
	// StartOneWorkerPerNode starts a runner on every node of an allocation.
	StartOneWorkerPerNode bool `json:"start_one_worker_per_node,omitempty"`
	// MaxParallelJobs limits the number of jobs that a runner runs at a time.
	MaxParallelJobs *int64 `json:"max_parallel_jobs,omitempty" jsonschema:"minimum=1"`
	// Persistent lets several runners execute the action.
	Persistent bool `json:"persistent,omitempty"`

	// MinReadyJobs: auto_schedule_on_ready_jobs requests allocations when at least this many
	// ready jobs have no place; 1 by default.
	MinReadyJobs *int64 `json:"min_ready_jobs,omitempty" jsonschema:"minimum=1"`
	// MaxReadyAge: it also requests them when one of these jobs has waited this long, for
	// example 2m or PT2M, which is the default.
	MaxReadyAge string `json:"max_ready_age,omitempty"`
	// MaxAllocations limits the running and pending allocations of the workflow; 64 by default, 10 without a forecast.
	MaxAllocations *int64 `json:"max_allocations,omitempty" jsonschema:"minimum=1"`
	// MaxSubmitPerMinute limits the number of requests per minute; 20 by default, 6 without a forecast.
	MaxSubmitPerMinute *int64 `json:"max_submit_per_minute,omitempty" jsonschema:"minimum=1"`
	// IdleTimeout is how long a runner waits without jobs before it exits.
	IdleTimeout string `json:"idle_timeout,omitempty"`
	// GiveUpAfter is the number of consecutive allocations without work after which only a
	// single one is tried from time to time; 5 by default.
	GiveUpAfter *int64 `json:"give_up_after,omitempty" jsonschema:"minimum=1"`
	// Prefer: time has the jobs end as soon as possible, cost keeps idle core-hours few
	// even if the jobs end later; balanced, the default, is in between.
	Prefer string `json:"prefer,omitempty" jsonschema:"enum=time,enum=balanced,enum=cost"`
}

// OnFailure says what follows an unsuccessful run: the undo commands of its jobs, and after
// them other jobs that clean up.
type OnFailure struct {
	located

	// Jobs are the jobs that clean up. They are like those of the workflow, without files and user data.
	Jobs []*Job `json:"jobs,omitempty"`

	workflow.CompensationPolicy
}

// Stdio says which output of a job is kept.
type Stdio struct {
	// Mode: separate (.o and .e), combined (.log), no_stdout, no_stderr, none.
	Mode string `json:"mode,omitempty" jsonschema:"enum=separate,enum=combined,enum=no_stdout,enum=no_stderr,enum=none"`
	// DeleteOnSuccess removes the files of a job that succeeded.
	DeleteOnSuccess *bool `json:"delete_on_success,omitempty"`
}

// DynamicJobs limits the jobs that running jobs may add.
type DynamicJobs struct {
	// MaxIterations per lineage.
	MaxIterations *int64 `json:"max_iterations,omitempty" jsonschema:"minimum=1"`
}

// ExecutionConfig says how jobs are run and ended.
type ExecutionConfig struct {
	located

	// Mode: direct (processes of the runner), slurm (srun steps), auto.
	Mode string `json:"mode,omitempty" jsonschema:"enum=direct,enum=slurm,enum=auto"`
	// SigkillHeadroomSeconds: jobs are killed this long before the allocation ends.
	SigkillHeadroomSeconds *int64 `json:"sigkill_headroom_seconds,omitempty" jsonschema:"minimum=0"`
	// TimeoutExitCode is recorded for a job that was ended because its time was up.
	TimeoutExitCode *int64 `json:"timeout_exit_code,omitempty"`
	// StaggeredStart spreads the start of runners.
	StaggeredStart *bool `json:"staggered_start,omitempty"`
	// LimitResources kills jobs that exceed their memory (direct mode).
	LimitResources *bool `json:"limit_resources,omitempty"`
	// TerminationSignal, for example SIGTERM (direct mode).
	TerminationSignal string `json:"termination_signal,omitempty"`
	// SigtermLeadSeconds: the signal is sent this long before the kill (direct mode).
	SigtermLeadSeconds *int64 `json:"sigterm_lead_seconds,omitempty" jsonschema:"minimum=0"`
	// OOMExitCode is recorded for a job that was killed because it exceeded its memory (direct mode).
	OOMExitCode *int64 `json:"oom_exit_code,omitempty"`
	// SrunTerminationSignal, for example TERM@120 (slurm mode).
	SrunTerminationSignal string `json:"srun_termination_signal,omitempty"`
	// EnableCPUBind lets srun bind CPUs (slurm mode).
	EnableCPUBind *bool `json:"enable_cpu_bind,omitempty"`
	// SrunMPI is the --mpi of the srun that starts one runner per node.
	SrunMPI string `json:"srun_mpi,omitempty"`
	// Stdio of jobs that have none.
	Stdio *Stdio `json:"stdio,omitempty"`
	// JobStdioOverrides by job name; the stdio of jobs takes precedence.
	JobStdioOverrides map[string]*Stdio `json:"job_stdio_overrides,omitempty"`
}

// ResourceMonitor says what is measured while jobs run.
type ResourceMonitor struct {
	located

	// Enabled turns on the measurement of jobs if there is no jobs block.
	Enabled bool `json:"enabled,omitempty"`
	// Granularity of the measurement of jobs if there is no jobs block.
	Granularity string `json:"granularity,omitempty" jsonschema:"enum=summary,enum=time_series"`
	// SampleIntervalSeconds between two samples.
	SampleIntervalSeconds *int64 `json:"sample_interval_seconds,omitempty" jsonschema:"minimum=1"`
	// FlushIntervalSeconds between two writes of a time series.
	FlushIntervalSeconds *int64 `json:"flush_interval_seconds,omitempty" jsonschema:"minimum=1"`
	// GeneratePlots is stored, but has no effect yet.
	GeneratePlots bool `json:"generate_plots,omitempty"`
	// Jobs says how jobs are measured.
	Jobs *JobMonitor `json:"jobs,omitempty"`
	// ComputeNode says how the node is measured.
	ComputeNode *NodeMonitor `json:"compute_node,omitempty"`
}

// JobMonitor says how jobs are measured.
type JobMonitor struct {
	// Enabled turns it on.
	Enabled bool `json:"enabled,omitempty"`
	// Granularity: one summary, or a time series.
	Granularity string `json:"granularity,omitempty" jsonschema:"enum=summary,enum=time_series"`
}

// NodeMonitor says how nodes are measured.
type NodeMonitor struct {
	// Enabled turns it on.
	Enabled bool `json:"enabled,omitempty"`
	// Granularity: one summary, or a time series.
	Granularity string `json:"granularity,omitempty" jsonschema:"enum=summary,enum=time_series"`
	// CPU is measured unless false.
	CPU *bool `json:"cpu,omitempty"`
	// Memory is measured unless false.
	Memory *bool `json:"memory,omitempty"`
}

// Parameters are named axes in the order in which they were written. Combinations are in this
// order too; the last axis varies fastest.
type Parameters []Parameter

// Parameter is one axis.
type Parameter struct {
	Name string
	// Value is the text of the user: a range 1:100:2, a list [a,b], @file or a single value. The
	// elements of a list in the syntax of the file are in Items instead.
	Value string
	Items []Value

	at *node
}

// MarshalJSON writes the axes as an object in their order.
func (ps Parameters) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonString(p.Name))
		b.WriteByte(':')
		if p.Items == nil {
			b.Write(jsonString(p.Value))
		} else {
			b.WriteString(p.definition())
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// located is embedded in structs of the document whose place in the file is needed by later
// checks.
type located struct{ at *node }

func (l *located) locate(n *node) { l.at = n }

// jsonString writes a string as JSON, without the escapes that only HTML needs.
func jsonString(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
