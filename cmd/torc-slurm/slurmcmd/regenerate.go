package slurmcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/schedulergen"
)

func newRegenerate(a *cli.Factory) *cobra.Command {
	var flags schedulergen.RegenerateFlags
	cmd := &cobra.Command{
		Use:   "regenerate WORKFLOW",
		Short: "Create Slurm schedulers for the remaining jobs",
		Long: `Create Slurm schedulers for the jobs of a workflow that have not started, like slurm
generate for a specification, and assign them to the jobs. An existing scheduler of
the same shape is used instead.

With --submit the daemon requests allocations as the jobs need them. Existing
allocations count, so the command may be repeated. With --no-auto-schedule, and for a
workflow that was submitted with it or has auto_schedule: false, allocations for the
ready jobs are requested once.`,
		Example: `  torc-slurm slurm regenerate 12 --dry-run
  torc-slurm slurm regenerate 12 --submit
  torc-slurm slurm regenerate 12 --partition long --walltime 2-00:00:00 --submit`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits("6 jobs of the workflow fit no allocation"),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	flags.PlanFlags.Add(cmd)
	flags.Flags.Add(cmd, "output-dir")
	f := cmd.Flags()
	f.StringVar(&flags.Partition, "partition", "", "`PARTITION` for all jobs (default: the best for each)")
	f.StringVar(&flags.Walltime, "walltime", "", "`TIME` limit of all allocations, as sbatch takes it")
	f.StringSliceVar(&flags.Include, "include-job-ids", nil, "also these `JOBS`, whatever their status, separated by commas")
	f.BoolVar(&flags.Submit, "submit", false, "request missing allocations from Slurm")
	schedulergen.AddNoAutoSchedule(f, &flags.Once)
	f.BoolVar(&flags.DryRun, "dry-run", false, "only show what would be created")
	f.BoolVar(&flags.SkipChecks, "skip-checks", false, "submit even if jobs fit no allocation")
	cmd.RunE = cli.Checked(flags.Check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		r, err := schedulergen.Regenerate(ctx, a, c, id, &flags)
		if err != nil {
			return err
		}
		return a.ShowRecord(r.JSON(), r.Write)
	}))
	return cmd
}
