package api

import "github.com/torc-slurm/torc-slurm/workflow"

// A whole workflow is sent as lines of JSON (application/x-ndjson) to POST
// /workflows/definition: a header, any number of chunks, and an end line with the counts.
// Nothing of it is visible before the end line has arrived and was verified.

// DefinitionLine is one line. One field is set.
type DefinitionLine struct {
	Workflow        *DefinitionHeader                   `json:"workflow,omitempty"`
	Files           []workflow.FileDefinition           `json:"files,omitempty"`
	UserData        []workflow.UserDataDefinition       `json:"user_data,omitempty"`
	Requirements    []DefinitionRequirements            `json:"resource_requirements,omitempty"`
	FailureHandlers []workflow.FailureHandlerDefinition `json:"failure_handlers,omitempty"`
	SlurmSchedulers []workflow.SlurmSchedulerDefinition `json:"slurm_schedulers,omitempty"`
	Stages          []workflow.StageDefinition          `json:"stages,omitempty"`
	Jobs            []workflow.JobDefinition            `json:"jobs,omitempty"`
	Actions         []workflow.ActionDefinition         `json:"actions,omitempty"`
	End             *DefinitionEnd                      `json:"end,omitempty"`
}

// DefinitionHeader is the workflow itself, without its lists.
type DefinitionHeader struct {
	// Key is chosen by the client. Sending a definition again with the same key returns
	// the workflow that the first one created.
	Key string `json:"key,omitempty"`
	workflow.Definition
}

// DefinitionRequirements are a workflow.ResourceRequirements without ids.
type DefinitionRequirements struct {
	Name     string `json:"name"`
	NumCPUs  int64  `json:"num_cpus"`
	NumGPUs  int64  `json:"num_gpus"`
	NumNodes int64  `json:"num_nodes"`
	Memory   string `json:"memory"`
	Runtime  string `json:"runtime"`
}

// DefinitionEnd ends a definition. Its counts must match the records sent.
type DefinitionEnd struct {
	Jobs  int64 `json:"jobs"`
	Files int64 `json:"files"`
}

// DefinitionResponse is the answer to POST /workflows/definition.
type DefinitionResponse struct {
	WorkflowID int64 `json:"workflow_id"`
	JobCount   int64 `json:"job_count"`
}
