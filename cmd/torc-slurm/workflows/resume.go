package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// NewResume returns the command that ends a pause, and whatever else holds the claims of a
// workflow.
func NewResume(a *cli.Factory) *cobra.Command {
	c := newResume(a)
	c.GroupID = cli.GroupLifecycle
	return c
}

func newResume(a *cli.Factory) *cobra.Command {
	var kind string
	kinds := hold.ClaimHoldKindNames()
	cmd := &cobra.Command{
		Use:   "resume [WORKFLOW]",
		Short: "End the pause of a workflow, and what else holds its claims",
		Long: `Let runners claim jobs of a workflow again whose claims are held: because it was
paused (pause), because too many of its jobs have failed (max_failures), because a
circuit breaker has tripped (breaker), or because its time is over (deadline).
"why -w ID" shows what holds them, and this command what it has lifted.

After this as many jobs as max_failures says may fail once more, and a breaker counts
anew.`,
		Example: `  torc-slurm resume 12
  torc-slurm resume 12 --kind max_failures`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only what is of this kind: "+strings.Join(kinds, ", "))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if kind != "" && !slices.Contains(kinds, kind) {
			return cli.UsageErrorf("--kind %s: write one of %s", kind, strings.Join(kinds, ", "))
		}
		return a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
			out, err := c.Workflows.ReleaseClaims(ctx, id, hold.ClaimHoldKind(kind))
			switch {
			case err != nil:
				return err
			case out.Released == 0:
				return a.ShowMessage(out, "Nothing held the claims of workflow %d", id)
			}
			text := fmt.Sprintf("Lifted %s of the claims of workflow %d", workflow.CountOf(out.Released, "hold", "holds"), id)
			for i := range out.Holds {
				text += "\n  " + out.Holds[i].Reason
			}
			return a.ShowMessage(out, "%s", text)
		})(cmd, args)
	}
	return cmd
}
