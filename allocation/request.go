package allocation

import (
	"time"

	sbatchtemplates "github.com/torc-slurm/torc-slurm/sbatch-templates"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// RequestOf returns the request that a scheduler of a workflow describes. The error
// says what is wrong with its walltime.
func RequestOf(c *compute.SlurmScheduler) (compute.AllocationRequest, error) {
	walltime, err := slurm.ParseDuration(c.Walltime)
	if err != nil || walltime <= 0 {
		return compute.AllocationRequest{}, workflow.Errorf(workflow.CodeInvalid, "invalid walltime %[2]q of Slurm scheduler %[1]q", c.Name, c.Walltime).
			WithHint("use Slurm's format, for example 04:00:00 or 2-12:00:00")
	}
	r := compute.AllocationRequest{Account: c.Account, Nodes: c.Nodes}
	if walltime != slurm.Unlimited {
		r.WalltimeS = int64(walltime / time.Second)
	}
	for field, value := range map[*string]*string{
		&r.Partition: c.Partition, &r.QOS: c.QOS, &r.Mem: c.Mem, &r.Gres: c.Gres, &r.Tmp: c.Tmp, &r.Extra: c.Extra,
	} {
		if value != nil {
			*field = *value
		}
	}
	if c.NtasksPerNode != nil {
		r.NtasksPerNode = *c.NtasksPerNode
	}
	return r, nil
}

// NodesOf returns what the user's own options say about the nodes of a request: the
// options of the scheduler, and those for all allocations of the workflow.
func NodesOf(w *workflow.Workflow, r *compute.AllocationRequest) (sbatchtemplates.Nodes, error) {
	defaults, err := sbatchtemplates.ParseDefaults(w.SlurmDefaults)
	if err != nil {
		return sbatchtemplates.Nodes{}, err
	}
	return sbatchtemplates.NodesOf(defaults, r.Extra), nil
}
