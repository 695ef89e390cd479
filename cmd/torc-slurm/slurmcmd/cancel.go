package slurmcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newCancel returns the command that cancels an allocation.
func newCancel(a *cli.Factory) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use:   "cancel ALLOCATION",
		Short: "Cancel an allocation",
		Long: `Cancel an allocation. The jobs that run in it are preempted, and run again elsewhere
if their policy retries that. ` + "`torc-slurm sq`" + ` lists the ids of allocations.
--dry-run only says which jobs would be preempted, and how much work would be lost.`,
		Example: `  torc-slurm slurm cancel 7 --dry-run
  torc-slurm slurm cancel 7`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("allocation", func(ctx context.Context, c *cli.Connection, id int64) error {
			if dryRun {
				return proposeCancel(ctx, a, c, id)
			}
			answer, err := c.Allocations.Cancel(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(answer, "%s", answer.Message)
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would end")
	return cmd
}

// proposeCancel shows what the cancellation of an allocation would end.
func proposeCancel(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) error {
	p, err := c.Allocations.ProposeCancel(ctx, id)
	if err != nil {
		return err
	}
	if p.IsCanceling {
		return a.ShowMessage(p, "Allocation %d is being canceled already", id)
	}
	text := fmt.Sprintf("Would preempt %s", workflow.CountOf(int64(len(p.Jobs)), "job", "jobs"))
	if len(p.Jobs) > 0 {
		text += ": " + cli.FirstNames(namesOf(p.Jobs))
	}
	if p.CPUSeconds > 0 {
		text += fmt.Sprintf("\nLost, unless the jobs save it: %.1f CPU hours", float64(p.CPUSeconds)/3600)
	}
	if p.NodeSecondsLeft > 0 {
		text += fmt.Sprintf("\nNot used: %.1f node-hours", float64(p.NodeSecondsLeft)/3600)
	}
	return a.ShowMessage(p, "%s", text)
}

func namesOf(jobs []api.LiveJob) []string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.Name
	}
	return names
}
