package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func newDeleteCommand(a *app) *cobra.Command {
	noPrompts := false
	c := &cobra.Command{
		Use:     "delete ID...",
		Short:   "Delete workflows with everything in them",
		Long:    "Delete workflows: jobs, results, events and all. The output of jobs stays. You are asked first, unless the output is JSON.",
		GroupID: groupLifecycle,
		Example: `  torc-slurm delete 12
  torc-slurm delete 12 13 14 --no-prompts`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(0),
		Annotations:       serverExits(),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runDelete(c.Context(), args, noPrompts)
		},
	}
	addNoPrompts(c.Flags(), &noPrompts)
	also := c.Flags().GetNormalizeFunc()
	c.Flags().SetNormalizeFunc(func(f *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "force" {
			name = "no-prompts"
		}
		return also(f, name)
	})
	return c
}

func (a *app) runDelete(ctx context.Context, args []string, noPrompts bool) error {
	ids, err := parseIDs("workflow", args)
	if err != nil {
		return err
	}
	conn, err := a.connect(ctx)
	if err != nil {
		return err
	}
	rows, err := a.deletable(ctx, conn, ids)
	if err != nil {
		return err
	}
	if !noPrompts && a.format != formatJSON {
		writeTable(a.Stderr, []string{"ID", "Name", "User", "Description", "Jobs"}, rows, a.Width())
	}
	question := "Delete this workflow?"
	if len(ids) > 1 {
		question = fmt.Sprintf("Delete these %d workflows?", len(ids))
	}
	if ok, err := a.confirm(noPrompts, question); !ok || err != nil {
		return err
	}
	var failed []error
	var deleted []int64
	for _, id := range ids {
		if _, err := conn.DeleteWorkflow(ctx, id); err != nil {
			failed = append(failed, fmt.Errorf("delete workflow %d: %w", id, err))
			continue
		}
		deleted = append(deleted, id)
		if a.format != formatJSON {
			fmt.Fprintf(a.Stdout, "Deleted workflow %d\n", id)
		}
	}
	if a.format == formatJSON && len(deleted) > 0 {
		err = a.writeJSON(struct {
			Status  string  `json:"status"`
			Deleted []int64 `json:"deleted_workflows"`
		}{map[bool]string{true: "success", false: "partial_success"}[len(failed) == 0], deleted})
	}
	return errors.Join(append(failed, err)...)
}

// deletable looks the workflows up; all must be there and the user's own.
func (a *app) deletable(ctx context.Context, c *connection, ids []int64) (rows [][]string, err error) {
	for _, id := range ids {
		w, err := c.Workflow(ctx, id)
		if err != nil {
			return nil, err
		}
		if w.User != a.user() {
			return nil, workflow.Errorf(workflow.CodeForbidden, "workflow %d belongs to %s", id, w.User)
		}
		status, err := c.WorkflowStatus(ctx, id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{fmt.Sprint(id), w.Name, w.User, orEmpty(w.Description), fmt.Sprint(status.TotalJobs)})
	}
	return rows, nil
}
