package workflows

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NewDelete returns the command that deletes workflows.
func NewDelete(a *cli.Factory) *cobra.Command {
	noPrompts, force := false, false
	c := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete workflows with everything in them",
		Long: `Delete workflows: jobs, results, events and all. The output of jobs stays. You are asked
first, unless the output is JSON.

A workflow of which jobs run or allocations live is not deleted, save with --force: then
it is canceled, its processes get up to a minute to end, and it is deleted.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm delete 12
  torc-slurm delete 12 13 14 --no-prompts
  torc-slurm delete 12 --force                       also if it runs`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 0),
		Annotations:       cli.ServerExits(),
		RunE: func(c *cobra.Command, args []string) error {
			return runDelete(c.Context(), a, args, noPrompts || force, force)
		},
	}
	cli.AddNoPrompts(c.Flags(), &noPrompts)
	c.Flags().BoolVar(&force, "force", false, "cancel what is at work, and do not ask")
	return c
}

func runDelete(ctx context.Context, a *cli.Factory, args []string, noPrompts, force bool) error {
	ids, err := cli.ParseIDs("workflow", args)
	if err != nil {
		return err
	}
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	rows, err := deletable(ctx, a, conn, ids)
	if err != nil {
		return err
	}
	if !noPrompts && a.Format != cli.FormatJSON {
		cli.WriteTable(a.Stderr, []string{"ID", "Name", "User", "Description", "Jobs"}, rows, a.Width())
	}
	question := "Delete this workflow?"
	if len(ids) > 1 {
		question = fmt.Sprintf("Delete these %d workflows?", len(ids))
	}
	if ok, err := a.Confirm(noPrompts, question); !ok || err != nil {
		return err
	}
	var failed []error
	var deleted []int64
	for _, id := range ids {
		if err := deleteWorkflow(ctx, a, conn, id, force); err != nil {
			failed = append(failed, fmt.Errorf("delete workflow %d: %w", id, err))
			continue
		}
		deleted = append(deleted, id)
		if a.Format != cli.FormatJSON {
			fmt.Fprintf(a.Stdout, "Deleted workflow %d\n", id)
		}
	}
	if a.Format == cli.FormatJSON && len(deleted) > 0 {
		err = a.WriteJSON(struct {
			Status  string  `json:"status"`
			Deleted []int64 `json:"deleted_workflows"`
		}{map[bool]string{true: "success", false: "partial_success"}[len(failed) == 0], deleted})
	}
	return errors.Join(append(failed, err)...)
}

const (
	// endingTime is how long a deletion waits for what it has canceled.
	endingTime = time.Minute
	// endingPoll is how often it checks whether that has ended.
	endingPoll = 200 * time.Millisecond
)

// deleteWorkflow deletes a workflow in which nothing is running; with force it cancels what
// is, and waits for its end. What has not ended by then has been canceled, and is named.
func deleteWorkflow(ctx context.Context, a *cli.Factory, conn *cli.Connection, id int64, force bool) error {
	_, err := conn.Workflows.DeleteIdle(ctx, id)
	if !force || !atWork(err) {
		return err
	}
	if _, err := conn.Workflows.Cancel(ctx, id); err != nil {
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
			_, err = conn.Workflows.Delete(ctx, id)
			return err
		case <-tick.C:
		}
		if _, err = conn.Workflows.DeleteIdle(ctx, id); !atWork(err) {
			return err
		}
	}
}

// atWork reports whether a deletion was rejected because something is running.
func atWork(err error) bool {
	var refusal *client.APIError
	return errors.As(err, &refusal) && refusal.Status == http.StatusConflict
}

// deletable returns the workflows; all must exist and belong to the user.
func deletable(ctx context.Context, a *cli.Factory, c *cli.Connection, ids []int64) (rows [][]string, err error) {
	for _, id := range ids {
		w, err := c.Workflows.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if w.User != a.User() {
			return nil, workflow.Errorf(workflow.CodeForbidden, "workflow %d belongs to %s", id, w.User)
		}
		status, err := c.Workflows.Status(ctx, id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{fmt.Sprint(id), w.Name, w.User, cli.OrEmpty(w.Description), fmt.Sprint(status.TotalJobs)})
	}
	return rows, nil
}
