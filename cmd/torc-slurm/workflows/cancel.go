package workflows

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NewCancel returns the command that cancels a workflow.
func NewCancel(a *cli.Factory) *cobra.Command {
	noPrompts, dryRun := false, false
	c := &cobra.Command{
		Use:   "cancel [ID]",
		Short: "Cancel a workflow",
		Long: `Cancel a workflow: its runners end the jobs that run, and no other job starts.
Its allocations are canceled, and the command waits up to a minute until Slurm
has released them. You are asked first, unless the output is JSON. --dry-run only
says which jobs and allocations would end, and how much work would be lost.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm cancel 12
  torc-slurm cancel 12 --dry-run
  torc-slurm cancel 12 --no-prompts`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.ServerExits("1 canceled, but some allocations have not ended yet; the daemon continues"),
		RunE: a.WorkflowCommand(func(ctx context.Context, conn *cli.Connection, id int64) error {
			if dryRun {
				return proposeCancel(ctx, a, conn, id)
			}
			return runCancel(ctx, a, conn, id, noPrompts)
		}),
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would end")
	cli.AddNoPrompts(c.Flags(), &noPrompts)
	return c
}

func runCancel(ctx context.Context, a *cli.Factory, conn *cli.Connection, id int64, noPrompts bool) error {
	w, err := conn.Workflows.Get(ctx, id)
	if err != nil {
		return err
	}
	if !noPrompts && a.Format != cli.FormatJSON {
		writeWorkflow(a, w)
	}
	if ok, err := a.Confirm(noPrompts, "Cancel this workflow?"); !ok || err != nil {
		return err
	}
	before, err := client.Collect(conn.Allocations.List(ctx, client.AllocationFilter{WorkflowID: id, Live: true}))
	if err != nil {
		return err
	}
	if _, err := conn.Workflows.Cancel(ctx, id); err != nil {
		return err
	}
	result := CancelResult{Status: "success", WorkflowID: id, CanceledSlurmJobs: []string{}}
	left, err := apidata.AwaitGone(ctx, a, conn, id, before)
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
		result.Errors = append(result.Errors, fmt.Sprintf("Slurm job %s is still %s", cli.FirstOf(apidata.SlurmID(x), "(not known yet)"), cli.FirstOf(x.SlurmState, x.State)))
	}
	return showCanceled(a, result)
}

// proposeCancel shows what a cancellation would end.
func proposeCancel(ctx context.Context, a *cli.Factory, conn *cli.Connection, id int64) error {
	p, err := conn.Workflows.ProposeCancel(ctx, id)
	if err != nil {
		return err
	}
	if p.IsCanceled {
		return a.ShowMessage(p, "Workflow %d is canceled already", id)
	}
	jobs := make([]string, len(p.Jobs))
	for i, j := range p.Jobs {
		jobs[i] = j.Name
	}
	slurmJobs := make([]string, len(p.Allocations))
	for i, x := range p.Allocations {
		slurmJobs[i] = fmt.Sprint(x.SlurmJobID)
		if x.SlurmJobID == 0 {
			slurmJobs[i] = "(not known yet)"
		}
	}
	text := fmt.Sprintf("Would end %s%s\nWould cancel %s%s\n%s would not start",
		workflow.CountOf(int64(len(jobs)), "job", "jobs"), named(jobs),
		workflow.CountOf(int64(len(slurmJobs)), "allocation", "allocations"), named(slurmJobs),
		workflow.CountOf(p.NotStarted, "job", "jobs"))
	if p.CPUSeconds > 0 {
		text += fmt.Sprintf("\nLost, unless the jobs save it: %.1f CPU hours", float64(p.CPUSeconds)/3600)
	}
	return a.ShowMessage(p, "%s", text)
}

// named puts names after a count.
func named(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + cli.FirstNames(names)
}

// CancelResult is the JSON output of cancel.
type CancelResult struct {
	Status            string   `json:"status"` // success, partial_success
	WorkflowID        int64    `json:"workflow_id"`
	CanceledSlurmJobs []string `json:"canceled_slurm_jobs"`
	Errors            []string `json:"errors,omitempty"`
}

func showCanceled(a *cli.Factory, r CancelResult) error {
	slurmJobs := ""
	if n := len(r.CanceledSlurmJobs); n > 0 {
		slurmJobs = fmt.Sprintf(" and %s: %s", workflow.CountOf(int64(n), "Slurm job", "Slurm jobs"), cli.FirstNames(r.CanceledSlurmJobs))
	}
	if err := a.ShowMessage(r, "Canceled workflow %d%s", r.WorkflowID, slurmJobs); err != nil {
		return err
	}
	if r.Status == "success" {
		return nil
	}
	for _, e := range r.Errors {
		a.Note("%s", e)
	}
	a.Note("The daemon goes on canceling them; `%s sq %d` shows what is left.", cli.Prefix(a), r.WorkflowID)
	return cli.Silent(cli.ExitFailed)
}

// writeWorkflow writes to standard error which workflow a question is about.
func writeWorkflow(a *cli.Factory, w *api.Workflow) {
	cli.WriteFields(a.Stderr, cli.Field{"ID", cli.OrEmpty(w.ID)}, cli.Field{"Name", w.Name},
		cli.Field{"User", w.User}, cli.Field{"Description", cli.OrEmpty(w.Description)})
	fmt.Fprintln(a.Stderr)
}
