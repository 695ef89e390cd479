// Package tasks has the commands about the tasks of the daemon.
package tasks

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about tasks.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "tasks", "Wait for work that the server does in the background", newWait(a))
}

func newWait(a *cli.Factory) *cobra.Command {
	var timeout, poll float64
	c := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait for a background task to end",
		Example: `  torc-slurm workflows init 12 --async
  torc-slurm tasks wait 3 --timeout 60`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits("1 the task failed, or did not end in time"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := cli.ParseID("task", args[0])
			if err != nil {
				return err
			}
			if timeout < 0 || poll <= 0 {
				return cli.UsageErrorf("--timeout and --poll-fallback-interval are seconds, more than 0")
			}
			return runTasksWait(c.Context(), a, id, cli.Seconds(timeout), cli.Seconds(poll))
		},
	}
	c.Flags().Float64Var(&timeout, "timeout", 0, "give up after so many `SECONDS` (default: never); the task goes on")
	c.Flags().Float64Var(&poll, "poll-fallback-interval", 10, "ask every so many `SECONDS`, if no event tells earlier")
	return c
}

func runTasksWait(ctx context.Context, a *cli.Factory, id int64, timeout, poll time.Duration) error {
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	task, err := apidata.WaitForTask(ctx, conn, id, timeout, poll)
	if err != nil {
		return apidata.TaskError(a, id, err)
	}
	if err := a.ShowRecord(task, func(w io.Writer) {
		cli.WriteFields(w, cli.Field{"Task", fmt.Sprint(task.ID)}, cli.Field{"Workflow ID", fmt.Sprint(task.WorkflowID)},
			cli.Field{"Operation", task.Operation}, cli.Field{"Status", string(task.Status)}, cli.Field{"Error", cli.OrEmpty(task.Error)})
	}); err != nil {
		return err
	}
	if task.Status != workflow.TaskSucceeded {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}
