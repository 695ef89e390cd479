package compute

// SlurmScheduler is the shape of the allocations to request from Slurm.
type SlurmScheduler struct {
	ID                   int64
	WorkflowID           int64
	Name                 string
	Account              string
	Gres                 *string
	Mem                  *string
	Nodes                int64
	NtasksPerNode        *int64
	Partition            *string
	QOS                  *string
	Tmp                  *string
	Walltime             string
	Extra                *string
	SerializeAllocations bool
}
