package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newDeleteCommand(a *app) *cobra.Command {
	noPrompts, force := false, false
	c := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete workflows with everything in them",
		Long: `Delete workflows: jobs, results, events and all. The output of jobs stays. You are asked
first, unless the output is JSON.

A workflow of which jobs run or allocations live is not deleted, save with --force: then
it is canceled, its processes get up to a minute to end, and it is deleted.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm delete 12
  torc-slurm delete 12 13 14 --no-prompts
  torc-slurm delete 12 --force                       also if it runs`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(0),
		Annotations:       serverExits(),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runDelete(c.Context(), args, noPrompts || force, force)
		},
	}
	addNoPrompts(c.Flags(), &noPrompts)
	c.Flags().BoolVar(&force, "force", false, "cancel what is at work, and do not ask")
	return c
}

func (a *app) runDelete(ctx context.Context, args []string, noPrompts, force bool) error {
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
		if err := a.deleteWorkflow(ctx, conn, id, force); err != nil {
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

const (
	// endingTime is how long a deletion waits for what it has canceled.
	endingTime = time.Minute
	// endingPoll is how often it looks whether that has ended.
	endingPoll = 200 * time.Millisecond
)

// deleteWorkflow deletes a workflow of which nothing is at work; with force it cancels
// what is, and waits for its end. What has not ended by then was told to, and is named.
func (a *app) deleteWorkflow(ctx context.Context, conn *connection, id int64, force bool) error {
	_, err := conn.DeleteIdleWorkflow(ctx, id)
	if !force || !atWork(err) {
		return err
	}
	if _, err := conn.CancelWorkflow(ctx, id); err != nil {
		return fmt.Errorf("cancel it: %w", err)
	}
	tick := time.NewTicker(endingPoll)
	defer tick.Stop()
	for bound := time.After(endingTime); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-bound:
			fmt.Fprintf(a.Stderr, "Deleting it although not all has ended: %v\n", err)
			_, err = conn.DeleteWorkflow(ctx, id)
			return err
		case <-tick.C:
		}
		if _, err = conn.DeleteIdleWorkflow(ctx, id); !atWork(err) {
			return err
		}
	}
}

// atWork reports whether a deletion was refused because something is at work.
func atWork(err error) bool {
	var refusal *client.APIError
	return errors.As(err, &refusal) && refusal.Status == http.StatusConflict
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
