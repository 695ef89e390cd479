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
		Short: "Make Slurm schedulers for the jobs that are left",
		Long: `Make Slurm schedulers for the jobs of a workflow that have not begun, as slurm
generate does for a specification, and give them to the jobs. A scheduler of the
same shape that is there already is taken instead.

With --submit the daemon asks for allocations as the jobs need them. Allocations
that are there already count, so the command may be repeated. With --no-auto-schedule, and
for a workflow that was submitted so or has auto_schedule: false, what is missing
for the jobs that are ready is asked for once, and nothing later.`,
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
	f.BoolVar(&flags.Submit, "submit", false, "ask Slurm for what is missing")
	schedulergen.AddNoAutoSchedule(f, &flags.Once)
	f.BoolVar(&flags.DryRun, "dry-run", false, "only say what would be made")
	f.BoolVar(&flags.SkipChecks, "skip-checks", false, "submit although jobs fit no allocation")
	cmd.RunE = cli.Checked(flags.Check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		r, err := schedulergen.Regenerate(ctx, a, c, id, &flags)
		if err != nil {
			return err
		}
		return a.ShowRecord(r.JSON(), r.Write)
	}))
	return cmd
}
