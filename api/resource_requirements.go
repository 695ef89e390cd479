package api

// ResourceRequirements are what a job needs on each node. Answers have all fields.
type ResourceRequirements struct {
	ID         *int64  `json:"id,omitempty"`
	WorkflowID int64   `json:"workflow_id"`
	Name       string  `json:"name"`
	NumCPUs    *int64  `json:"num_cpus,omitempty"`  // default 1
	NumGPUs    *int64  `json:"num_gpus,omitempty"`  // default 0
	NumNodes   *int64  `json:"num_nodes,omitempty"` // default 1
	Memory     *string `json:"memory,omitempty"`    // default 1m
	Runtime    *string `json:"runtime,omitempty"`   // ISO 8601, default PT1M
}
