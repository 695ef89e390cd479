package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newUpdate(a *cli.Factory) *cobra.Command {
	var (
		name, command, runtime string
		workflowText           string
		requirements, priority int64
		labels                 []string
		clearLabels            bool
	)
	cmd := &cobra.Command{
		Use:   "update JOB",
		Short: "Change a job",
		Long: `Change a job. Name and command can be changed while it is uninitialized, everything
else at any time, with effect from the next attempt on.

--runtime changes the runtime of the job's resource requirements, and so that of
all jobs that share them.`,
		Example: `  torc-slurm jobs update 42 --priority 10
  torc-slurm jobs update 42 --label gpu --label big
  torc-slurm jobs update 42 --resource-requirements-id 3`,
		Annotations: cli.ServerExits(),
	}
	f := cmd.Flags()
	f.StringVarP(&name, "name", "n", "", "new name")
	f.StringVarP(&command, "command", "c", "", "new command")
	f.StringVar(&runtime, "runtime", "", "new runtime of its resource requirements, such as 3h or PT3H")
	f.Int64Var(&requirements, "resource-requirements-id", 0, "other resource requirements")
	f.Int64Var(&priority, "priority", 0, "new priority, from 0 on; higher is claimed first")
	f.StringSliceVar(&labels, "label", nil, "new labels instead of the old ones; may be repeated")
	f.BoolVar(&clearLabels, "clear-labels", false, "remove all labels")
	cmd.MarkFlagsMutuallyExclusive("label", "clear-labels")
	cmd.MarkFlagsOneRequired("name", "command", "runtime", "resource-requirements-id", "priority", "label", "clear-labels")
	a.AddJobArguments(cmd, &workflowText, false)
	cmd.RunE = a.JobCommand(&workflowText, func(ctx context.Context, c *cli.Connection, ids []int64) error {
		id := ids[0]
		if priority < 0 {
			return cli.UsageErrorf("--priority %d: it cannot be negative", priority)
		}
		var rr api.ResourceRequirements
		if cmd.Flags().Changed("runtime") {
			rr.Runtime = &runtime
		}
		if err := apidata.CheckRequirements(&rr); err != nil {
			return err
		}
		job, err := c.Jobs.Get(ctx, id)
		if err != nil {
			return err
		}
		change := api.Job{
			WorkflowID: job.WorkflowID, Name: cli.FirstOf(name, job.Name), Command: cli.FirstOf(command, job.Command),
			ResourceRequirementsID: cli.Given(cmd, "resource-requirements-id", requirements),
			Priority:               cli.Given(cmd, "priority", priority), Labels: labels,
		}
		update := c.Jobs.Update
		if clearLabels {
			update = c.Jobs.ClearLabels
		}
		if job, err = update(ctx, id, &change); err != nil {
			return err
		}
		if runtime != "" && job.ResourceRequirementsID != nil {
			if err := updateRuntime(ctx, c, *job.ResourceRequirementsID, runtime); err != nil {
				return err
			}
		}
		return a.ShowMessage(job, "Updated job %d", id)
	})
	return cmd
}

func updateRuntime(ctx context.Context, c *cli.Connection, requirementsID int64, runtime string) error {
	rr, err := c.ResourceRequirements.Get(ctx, requirementsID)
	if err != nil {
		return err
	}
	rr.Runtime = &runtime
	_, err = c.ResourceRequirements.Update(ctx, requirementsID, rr)
	return err
}
