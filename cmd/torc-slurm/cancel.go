package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
)

func newCancelCommand(a *app) *cobra.Command {
	noPrompts := false
	c := &cobra.Command{
		Use:   "cancel [ID]",
		Short: "Cancel a workflow",
		Long: `Cancel a workflow: its runners end the jobs that run, and no other job starts.
You are asked first, unless the output is JSON.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm cancel 12
  torc-slurm cancel 12 --no-prompts`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(1),
		Annotations:       serverExits(),
		RunE: a.workflowCommand(func(ctx context.Context, conn *connection, id int64) error {
			return a.runCancel(ctx, conn, id, noPrompts)
		}),
	}
	c.Flags().BoolVar(&noPrompts, "no-prompts", false, "do not ask")
	return c
}

func (a *app) runCancel(ctx context.Context, conn *connection, id int64, noPrompts bool) error {
	w, err := conn.Workflow(ctx, id)
	if err != nil {
		return err
	}
	if !noPrompts && a.format != formatJSON {
		writeWorkflow(a, w)
	}
	if ok, err := a.confirm(noPrompts, "Cancel this workflow?"); !ok || err != nil {
		return err
	}
	if _, err := conn.CancelWorkflow(ctx, id); err != nil {
		return err
	}
	return a.showMessage(struct {
		Status            string   `json:"status"`
		WorkflowID        int64    `json:"workflow_id"`
		CanceledSlurmJobs []string `json:"canceled_slurm_jobs"`
	}{"success", id, []string{}}, "Canceled workflow %d", id)
}

// writeWorkflow shows, on standard error, which workflow a question is about.
func writeWorkflow(a *app, w *api.Workflow) {
	writeFields(a.Stderr, field{"ID", orEmpty(w.ID)}, field{"Name", w.Name},
		field{"User", w.User}, field{"Description", orEmpty(w.Description)})
	fmt.Fprintln(a.Stderr)
}
