package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newCancelCommand(a *app) *cobra.Command {
	noPrompts := false
	c := &cobra.Command{
		Use:   "cancel [ID]",
		Short: "Cancel a workflow",
		Long: `Cancel a workflow: its runners end the jobs that run, and no other job starts.
Its allocations are canceled, and the command waits up to a minute until Slurm
has given them up. You are asked first, unless the output is JSON.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm cancel 12
  torc-slurm cancel 12 --no-prompts`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(1),
		Annotations:       serverExits("1 canceled, but allocations are there still; the daemon keeps at it"),
		RunE: a.workflowCommand(func(ctx context.Context, conn *connection, id int64) error {
			return a.runCancel(ctx, conn, id, noPrompts)
		}),
	}
	addNoPrompts(c.Flags(), &noPrompts)
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
	before, err := client.Collect(conn.Allocations(ctx, client.AllocationFilter{WorkflowID: id, Live: true}))
	if err != nil {
		return err
	}
	if _, err := conn.CancelWorkflow(ctx, id); err != nil {
		return err
	}
	result := cancelResult{Status: "success", WorkflowID: id, CanceledSlurmJobs: []string{}}
	left, err := a.awaitGone(ctx, conn, id, before)
	if err != nil {
		return err
	}
	for _, x := range before {
		switch {
		case slices.ContainsFunc(left, func(l api.QueuedAllocation) bool { return l.IntentID == x.IntentID }):
		case x.SlurmJobID != 0:
			result.CanceledSlurmJobs = append(result.CanceledSlurmJobs, fmt.Sprint(x.SlurmJobID))
		}
	}
	for _, x := range left {
		result.Status = "partial_success"
		result.Errors = append(result.Errors, fmt.Sprintf("Slurm job %s is still %s", firstOf(slurmID(x), "(not known yet)"), firstOf(x.SlurmState, x.State)))
	}
	return a.showCanceled(result)
}

// cancelResult is what cancel says in JSON.
type cancelResult struct {
	Status            string   `json:"status"` // success, partial_success
	WorkflowID        int64    `json:"workflow_id"`
	CanceledSlurmJobs []string `json:"canceled_slurm_jobs"`
	Errors            []string `json:"errors,omitempty"`
}

func (a *app) showCanceled(r cancelResult) error {
	slurmJobs := ""
	if n := len(r.CanceledSlurmJobs); n > 0 {
		slurmJobs = fmt.Sprintf(" and %s: %s", workflow.CountOf(int64(n), "Slurm job", "Slurm jobs"), firstNames(r.CanceledSlurmJobs))
	}
	if err := a.showMessage(r, "Canceled workflow %d%s", r.WorkflowID, slurmJobs); err != nil {
		return err
	}
	if r.Status == "success" {
		return nil
	}
	for _, e := range r.Errors {
		a.note("%s", e)
	}
	a.note("The daemon goes on canceling them; `%s sq %d` shows what is left.", a.prefix(), r.WorkflowID)
	return silent(exitFailed)
}

// cancelWithin is how long cancel waits for Slurm, which is asked at most every
// cancelLook.
const (
	cancelWithin = time.Minute
	cancelLook   = 3 * time.Second
)

// awaitGone waits, not for long, until the allocations of a workflow have ended,
// and returns those that are left.
func (a *app) awaitGone(ctx context.Context, c *connection, id int64, before []api.Allocation) ([]api.QueuedAllocation, error) {
	if len(before) == 0 {
		return nil, nil
	}
	if a.format != formatJSON {
		a.note("Waiting for the end of %s", workflow.CountOf(int64(len(before)), "allocation", "allocations"))
	}
	deadline := a.Now().Add(cancelWithin)
	for {
		queue, err := c.AllocationQueue(ctx, client.AllocationQueueFilter{WorkflowID: id, MaxAge: cancelLook})
		if err != nil {
			return nil, err
		}
		left := slices.DeleteFunc(queue.Items, func(l api.QueuedAllocation) bool { // asked for since, to undo the run
			return l.CancelMS == 0 && !slices.ContainsFunc(before, func(x api.Allocation) bool { return x.IntentID == l.IntentID })
		})
		if len(left) == 0 {
			return nil, nil
		}
		if !a.Now().Before(deadline) {
			return left, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// writeWorkflow shows, on standard error, which workflow a question is about.
func writeWorkflow(a *app, w *api.Workflow) {
	writeFields(a.Stderr, field{"ID", orEmpty(w.ID)}, field{"Name", w.Name},
		field{"User", w.User}, field{"Description", orEmpty(w.Description)})
	fmt.Fprintln(a.Stderr)
}
