package workflows

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// reconcileReport is the JSON output of workflows reconcile.
type reconcileReport struct {
	Files    int `json:"files"`
	Total    int `json:"total_completions"`
	Accepted int `json:"accepted"` // now or before
	Rejected int `json:"rejected"`
}

func newReconcile(a *cli.Factory) *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "reconcile WORKFLOW RUN",
		Short: "Deliver what runners wrote down and nobody has received",
		Long: `Deliver the reports that runners of a run have left in their output directory,
because the server was away until their end. The next runner there does that by
itself, and the server does it when an allocation has ended; this command is for
output directories that neither of them can see.

Reports that were recorded before are accepted again without effect; those of
attempts that were given to others are kept, and count as rejected.`,
		Example: `  torc-slurm workflows reconcile 12 1
  torc-slurm workflows reconcile 12 1 --base-dir /scratch/me/sweep`,
		Args:        cobra.ExactArgs(2),
		Annotations: cli.ServerExits("1 some reports were rejected, or a file could not be read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := cli.ParseID("workflow", args[0])
			if err != nil {
				return err
			}
			run, err := cli.ParseID("run", args[1])
			if err != nil {
				return err
			}
			return reconcile(cmd.Context(), a, id, run, base)
		},
	}
	cmd.Flags().StringVar(&base, "base-dir", ".", "`DIR` that holds the output directory, or is it")
	return cmd
}

func reconcile(ctx context.Context, a *cli.Factory, id, run int64, base string) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Workflows.Get(ctx, id); err != nil {
		return err
	}
	database, err := outputdir.Database(ctx, c)
	if err != nil {
		return err
	}
	var r reconcileReport
	for _, dir := range outputdir.Under(a, base) {
		left, err := runner.ReadSpooled(dir, database, func(h *spool.Header) bool { return h.WorkflowID == id && h.RunID == run })
		if err != nil {
			return workflow.Errorf(workflow.CodeForbidden, "%v", err)
		}
		for i := range left {
			if err := r.deliver(ctx, c, &left[i]); err != nil {
				return err
			}
		}
	}
	if err := a.ShowRecord(&r, func(w io.Writer) {
		fmt.Fprintf(w, "Files: %d\nReports: %d, %d accepted, %d rejected\n", r.Files, r.Total, r.Accepted, r.Rejected)
	}); err != nil {
		return err
	}
	if r.Rejected > 0 {
		return &cli.ExitError{Status: cli.ExitFailed}
	}
	return nil
}

// deliver sends the reports of one file, and removes it.
func (r *reconcileReport) deliver(ctx context.Context, c *cli.Connection, left *runner.Spooled) error {
	answer, err := c.Runners.Turn(ctx, left.RunnerID, &lease.TurnRequest{RunID: left.RunID, Reports: left.Reports, Started: left.Started})
	if err != nil {
		return fmt.Errorf("deliver what runner %d wrote down: %w", left.RunnerID, err)
	}
	r.Files++
	for _, result := range answer.Results {
		r.Total++
		switch result.Outcome {
		case lease.Accepted, lease.Duplicate:
			r.Accepted++
		default:
			r.Rejected++
		}
	}
	if err := left.Delivered(); err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "%v", err)
	}
	return nil
}
