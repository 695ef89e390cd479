package api

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// A whole workflow travels as lines of JSON (application/x-ndjson) to
// POST /workflows/definition: first its header, then any number of chunks,
// last an end line with the counts. Nothing of it is visible before the end
// line has arrived and was found right.

// DefinitionLine is one line. One field is set.
type DefinitionLine struct {
	Workflow        *DefinitionHeader          `json:"workflow,omitempty"`
	Files           []DefinitionFile           `json:"files,omitempty"`
	UserData        []DefinitionUserData       `json:"user_data,omitempty"`
	Requirements    []DefinitionRequirements   `json:"resource_requirements,omitempty"`
	FailureHandlers []DefinitionFailureHandler `json:"failure_handlers,omitempty"`
	SlurmSchedulers []DefinitionSlurmScheduler `json:"slurm_schedulers,omitempty"`
	Stages          []DefinitionStage          `json:"stages,omitempty"`
	Jobs            []DefinitionJob            `json:"jobs,omitempty"`
	Actions         []DefinitionAction         `json:"actions,omitempty"`
	End             *DefinitionEnd             `json:"end,omitempty"`
}

// DefinitionHeader is the workflow itself; see workflow.Definition.
type DefinitionHeader struct {
	// Key is made by the client. Sending a definition again with the same key
	// returns the workflow that the first one made.
	Key                                      string                          `json:"key,omitempty"`
	Name                                     string                          `json:"name"`
	User                                     string                          `json:"user"`
	Description                              string                          `json:"description,omitempty"`
	Project                                  string                          `json:"project,omitempty"`
	Metadata                                 json.RawMessage                 `json:"metadata,omitempty"`
	Env                                      map[string]string               `json:"env,omitempty"`
	SubmissionDirectory                      string                          `json:"submission_directory,omitempty"`
	AccessGroups                             []string                        `json:"access_groups,omitempty"`
	ComputeNodeWaitForNewJobsSeconds         *int64                          `json:"compute_node_wait_for_new_jobs_seconds,omitempty"`
	ComputeNodeIgnoreWorkflowCompletion      *bool                           `json:"compute_node_ignore_workflow_completion,omitempty"`
	ComputeNodeWaitForHealthyDatabaseMinutes *int64                          `json:"compute_node_wait_for_healthy_database_minutes,omitempty"`
	ComputeNodeMinTimeForNewJobsSeconds      *int64                          `json:"compute_node_min_time_for_new_jobs_seconds,omitempty"`
	ComputeNodeExpirationBufferSeconds       *int64                          `json:"compute_node_expiration_buffer_seconds,omitempty"`
	UsePendingFailed                         bool                            `json:"use_pending_failed,omitempty"`
	EnableROCrate                            bool                            `json:"enable_ro_crate,omitempty"`
	EnforceRuntime                           bool                            `json:"enforce_runtime,omitempty"`
	ExecutionConfig                          *workflow.ExecutionConfig       `json:"execution_config,omitempty"`
	ResourceMonitor                          *workflow.ResourceMonitorConfig `json:"resource_monitor_config,omitempty"`
	SlurmDefaults                            json.RawMessage                 `json:"slurm_defaults,omitempty"`
	DynamicJobs                              *workflow.DynamicJobsConfig     `json:"dynamic_jobs,omitempty"`
	Policy                                   *workflow.RunPolicy             `json:"policy,omitempty"`
}

// The chunk types are the workflow package's, with names for the wire; a
// conversion between the two compiles only while they have the same fields.
type (
	// DefinitionJob is workflow.JobDefinition.
	DefinitionJob struct {
		Name             string                `json:"name"`
		Command          string                `json:"command"`
		InvocationScript string                `json:"invocation_script,omitempty"`
		Env              map[string]string     `json:"env,omitempty"`
		Priority         int64                 `json:"priority,omitempty"`
		Labels           []string              `json:"labels,omitempty"`
		Requirements     string                `json:"resource_requirements,omitempty"`
		FailureHandler   string                `json:"failure_handler,omitempty"`
		Scheduler        string                `json:"scheduler,omitempty"`
		RunIf            workflow.RunIf        `json:"run_if,omitempty"`
		Stdio            *workflow.StdioConfig `json:"stdio,omitempty"`
		RunTimeout       *workflow.RunTimeout  `json:"run_timeout,omitempty"`
		Policy           *workflow.JobPolicy   `json:"policy,omitempty"`
		Login            bool                  `json:"login,omitempty"`
		Stage            int32                 `json:"stage,omitempty"`
		Child            int32                 `json:"child,omitempty"`
		Undoes           int32                 `json:"undoes,omitempty"`
		DependsOn        []int32               `json:"depends_on,omitempty"`
		InputFiles       []int32               `json:"input_files,omitempty"`
		OutputFiles      []int32               `json:"output_files,omitempty"`
		InputUserData    []int32               `json:"input_user_data,omitempty"`
		OutputUserData   []int32               `json:"output_user_data,omitempty"`
	}

	// DefinitionStage is workflow.StageDefinition.
	DefinitionStage struct {
		Kind   workflow.StageKind   `json:"kind"`
		Name   string               `json:"name"`
		Parent int32                `json:"parent,omitempty"`
		Policy workflow.StagePolicy `json:"policy,omitzero"`
	}

	// DefinitionFile is workflow.FileDefinition.
	DefinitionFile struct {
		Name       string   `json:"name"`
		Path       string   `json:"path"`
		Identifier string   `json:"identifier,omitempty"`
		ModTime    *float64 `json:"st_mtime,omitempty"`
	}

	// DefinitionUserData is workflow.UserDataDefinition.
	DefinitionUserData struct {
		Name        string          `json:"name"`
		IsEphemeral bool            `json:"is_ephemeral,omitempty"`
		Data        json.RawMessage `json:"data,omitempty"`
	}

	// DefinitionRequirements is workflow.ResourceRequirements without ids.
	DefinitionRequirements struct {
		Name     string `json:"name"`
		NumCPUs  int64  `json:"num_cpus"`
		NumGPUs  int64  `json:"num_gpus"`
		NumNodes int64  `json:"num_nodes"`
		Memory   string `json:"memory"`
		Runtime  string `json:"runtime"`
	}

	// DefinitionFailureHandler is workflow.FailureHandlerDefinition.
	DefinitionFailureHandler struct {
		Name  string                 `json:"name"`
		Rules []workflow.FailureRule `json:"rules"`
	}

	// DefinitionSlurmScheduler is workflow.SlurmSchedulerDefinition.
	DefinitionSlurmScheduler struct {
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

	// DefinitionAction is workflow.ActionDefinition.
	DefinitionAction struct {
		TriggerType           string                 `json:"trigger_type"`
		ActionType            string                 `json:"action_type"`
		Jobs                  []int32                `json:"jobs,omitempty"`
		Commands              []string               `json:"commands,omitempty"`
		Scheduler             string                 `json:"scheduler,omitempty"`
		SchedulerType         string                 `json:"scheduler_type,omitempty"`
		NumAllocations        int64                  `json:"num_allocations,omitempty"`
		StartOneWorkerPerNode bool                   `json:"start_one_worker_per_node,omitempty"`
		MaxParallelJobs       *int64                 `json:"max_parallel_jobs,omitempty"`
		Persistent            bool                   `json:"persistent,omitempty"`
		AutoSchedule          *workflow.AutoSchedule `json:"auto_schedule,omitempty"`
	}
)

// DefinitionEnd closes a definition; its counts must agree with what came.
type DefinitionEnd struct {
	Jobs  int64 `json:"jobs"`
	Files int64 `json:"files"`
}

// DefinitionResponse is the answer to POST /workflows/definition.
type DefinitionResponse struct {
	WorkflowID int64 `json:"workflow_id"`
	JobCount   int64 `json:"job_count"`
}
