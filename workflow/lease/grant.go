package lease

import (
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Grant is a job to run, with its lease.
type Grant struct {
	LeaseRef
	Name    string `json:"name"`
	Command string `json:"command"`
	workflow.JobSettings
	Env            map[string]string     `json:"env,omitempty"`  // of the job alone
	Node           string                `json:"node,omitempty"` // the node of the allocation
	Requirements   string                `json:"requirements"`   // name; "default" is never enforced
	CPUs           int64                 `json:"num_cpus"`
	GPUs           int64                 `json:"num_gpus,omitempty"`
	Nodes          int64                 `json:"num_nodes"`
	MemoryBytes    int64                 `json:"memory_bytes"`
	RuntimeSeconds int64                 `json:"runtime_seconds"`
	RunTimeout     *workflow.RunTimeout  `json:"run_timeout,omitempty"`
	Stdio          *workflow.StdioConfig `json:"stdio,omitempty"` // of the job; nil: the workflow's
	OutputFiles    []GrantFile           `json:"output_files,omitempty"`
	Input          *GrantInput           `json:"input,omitempty"`
	// Compensates says that the job is part of a compensation, and gets the
	// stage.FailedWorkflow.
	Compensates bool `json:"compensates,omitempty"`
	// Recovery, if not nil, is a script to run for the failed attempt instead of the job,
	// because the runner of the attempt did not receive the order.
	Recovery *Recovery `json:"recovery,omitempty"`
}

// GrantInput is a file to write before the job is started.
type GrantInput struct {
	Variable string          `json:"variable"` // environment variable of the job with the path of the file
	Data     json.RawMessage `json:"data"`
}

// GrantFile is an output file to check for.
type GrantFile struct {
	ID   int64  `json:"id"`
	Path string `json:"path"`
}
