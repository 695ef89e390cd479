package api

// SlurmScheduler describes allocations to request from Slurm.
type SlurmScheduler struct {
	ID                   *int64  `json:"id,omitempty"`
	WorkflowID           int64   `json:"workflow_id"`
	Name                 *string `json:"name,omitempty"`
	Account              string  `json:"account"`
	Gres                 *string `json:"gres,omitempty"`
	Mem                  *string `json:"mem,omitempty"`
	Nodes                int64   `json:"nodes"`
	NtasksPerNode        *int64  `json:"ntasks_per_node,omitempty"`
	Partition            *string `json:"partition,omitempty"`
	QOS                  *string `json:"qos,omitempty"`
	Tmp                  *string `json:"tmp,omitempty"`
	Walltime             string  `json:"walltime"`
	Extra                *string `json:"extra,omitempty"`
	SerializeAllocations *bool   `json:"serialize_allocations,omitempty"`
}
