package api

// LocalScheduler is the part of a machine that a local runner may use.
type LocalScheduler struct {
	ID         *int64  `json:"id,omitempty"`
	WorkflowID int64   `json:"workflow_id"`
	Name       *string `json:"name,omitempty"`
	Memory     *string `json:"memory,omitempty"`
	NumCPUs    *int64  `json:"num_cpus,omitempty"`
}
