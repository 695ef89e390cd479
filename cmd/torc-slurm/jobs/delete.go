package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newDelete(a *cli.Factory) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:         "delete JOB...",
		Short:       "Delete jobs",
		Long:        `Delete jobs, by id or by name. Jobs that depend on them no longer wait for them.`,
		Example:     `  torc-slurm jobs delete 42 43`,
		Annotations: cli.ServerExits(),
		RunE: a.JobCommand(&workflowText, func(ctx context.Context, c *cli.Connection, ids []int64) error {
			var deleted []api.Job
			for _, id := range ids {
				job, err := c.Jobs.Delete(ctx, id)
				if err != nil {
					return afterSome(err, len(deleted), "deleting %s")
				}
				deleted = append(deleted, *job)
			}
			return a.ShowMessage(items[api.Job]{deleted}, "Deleted %s", workflow.CountOf(int64(len(deleted)), "job", "jobs"))
		}),
	}
	a.AddJobArguments(cmd, &workflowText, true)
	return cmd
}

// items is the JSON form of a list.
type items[T any] struct {
	Items []T `json:"items"`
}

// afterSome adds to an error how many jobs a command had changed before it; doing says how,
// with the number for %s.
func afterSome(err error, n int, doing string) error {
	if n == 0 {
		return err
	}
	return fmt.Errorf("stopped after "+doing+": %w", workflow.CountOf(int64(n), "job", "jobs"), err)
}

func newDeleteAll(a *cli.Factory) *cobra.Command {
	var noPrompts bool
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "delete-all [WORKFLOW]",
		Short: "Delete all jobs of a workflow",
		Example: `  torc-slurm jobs delete-all 12
  torc-slurm jobs delete-all 12 --no-prompts`,
	})
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		ids, err := c.Jobs.IDs(ctx, id)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Delete %s of workflow %d?", workflow.CountOf(int64(len(ids)), "job", "jobs"), id)
		if yes, err := a.Confirm(noPrompts, question); err != nil || !yes {
			return err
		}
		n, err := c.Jobs.DeleteAll(ctx, id)
		if err != nil {
			return err
		}
		return a.ShowMessage(api.DeleteCount{Count: n}, "Deleted %s", workflow.CountOf(n, "job", "jobs"))
	})
	cli.AddNoPrompts(cmd.Flags(), &noPrompts)
	return cmd
}
