package workflows

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// syncReport is the JSON output of workflows sync-status.
type syncReport struct {
	WorkflowID        int64     `json:"workflow_id"`
	DryRun            bool      `json:"dry_run"`
	SlurmJobsFailed   int       `json:"slurm_jobs_failed"`           // jobs of allocations that are gone
	PendingCleaned    int       `json:"pending_allocations_cleaned"` // that never began
	RunningJobsFailed int       `json:"running_jobs_failed"`         // jobs of other runners that are gone
	NodesDeactivated  int       `json:"compute_nodes_deactivated"`
	Details           []lostJob `json:"failed_job_details"`
	Live              int       `json:"live_allocations"` // that are left
	Stale             string    `json:"stale,omitempty"`  // why Slurm was not asked
}

// lostJob is a job that lost its allocation or its runner.
type lostJob struct {
	JobID      int64  `json:"job_id"`
	JobName    string `json:"job_name"`
	Reason     string `json:"reason"`
	SlurmJobID string `json:"slurm_job_id"`
}

func newSyncStatus(a *cli.Factory) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use:   "sync-status [WORKFLOW]",
		Short: "Poll Slurm now, and report lost allocations and runners of a workflow",
		Long: `Have the daemon poll Slurm's queue now, and report what it found: allocations that
have ended, jobs that were lost with them, runners that are gone.

The daemon polls by itself, about once a minute and at once when a runner stops
reporting; nothing depends on this command. An allocation that squeue does not list
counts as gone only after a second poll, or if sacct says so.`,
		Example: `  torc-slurm workflows sync-status 12
  torc-slurm workflows sync-status 12 --dry-run     ask squeue here, change nothing`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say which allocations squeue does not know")
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		before, err := stateBefore(ctx, c, id)
		if err != nil {
			return err
		}
		var r *syncReport
		if dryRun {
			r, err = previewSync(ctx, a, before)
		} else {
			r, err = before.sync(ctx, c)
		}
		if err != nil {
			return err
		}
		return a.ShowRecord(r, func(w io.Writer) { r.write(w) })
	})
	return cmd
}

// queueBefore is what was known of a workflow before Slurm was polled.
type queueBefore struct {
	workflowID int64
	live       []api.QueuedAllocation
	running    []api.RunningJob
	nodes      []int64 // active runners
}

func stateBefore(ctx context.Context, c *cli.Connection, id int64) (*queueBefore, error) {
	b := &queueBefore{workflowID: id}
	queue, err := c.Allocations.Queue(ctx, client.AllocationQueueFilter{WorkflowID: id, MaxAge: -1})
	if err != nil {
		return nil, err
	}
	b.live = queue.Items
	if b.running, err = client.Collect(c.Jobs.Running(ctx, id, client.Page{})); err != nil {
		return nil, err
	}
	b.nodes, err = activeNodes(ctx, c, id)
	return b, err
}

// activeNodes are the ids of a workflow's runners that have not left.
func activeNodes(ctx context.Context, c *cli.Connection, id int64) (ids []int64, err error) {
	active := true
	for n, err := range c.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: id, IsActive: &active}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, cli.OrZero(n.ID))
	}
	return ids, nil
}

// sync has the daemon poll Slurm, and returns what has changed.
func (b *queueBefore) sync(ctx context.Context, c *cli.Connection) (*syncReport, error) {
	queue, err := c.Allocations.Queue(ctx, client.AllocationQueueFilter{WorkflowID: b.workflowID, Ended: true, MaxAge: 0})
	if err != nil {
		return nil, err
	}
	r := &syncReport{WorkflowID: b.workflowID, Details: []lostJob{}, Stale: queue.Stale}
	running, err := client.Collect(c.Jobs.Running(ctx, b.workflowID, client.Page{}))
	if err != nil {
		return nil, err
	}
	nodes, err := activeNodes(ctx, c, b.workflowID)
	if err != nil {
		return nil, err
	}
	for _, id := range b.nodes {
		if !slices.Contains(nodes, id) {
			r.NodesDeactivated++
		}
	}
	for _, x := range queue.Items {
		if x.State != string(compute.AllocationEnded) {
			r.Live++
			continue
		}
		i := slices.IndexFunc(b.live, func(l api.QueuedAllocation) bool { return l.ID == x.ID })
		switch {
		case i < 0: // it had ended before
		case b.live[i].StartMS == 0:
			r.PendingCleaned++
		default:
			r.lose(b.running, running, x)
		}
	}
	return r, nil
}

// lose records the jobs that ran in an allocation and no longer do.
func (r *syncReport) lose(before, after []api.RunningJob, x api.QueuedAllocation) {
	for _, j := range before {
		if cli.OrEmpty(j.SchedulerJobID) != fmt.Sprint(x.SlurmJobID) ||
			slices.ContainsFunc(after, func(now api.RunningJob) bool { return now.JobID == j.JobID }) {
			continue
		}
		r.SlurmJobsFailed++
		r.Details = append(r.Details, lostJob{j.JobID, j.JobName, x.Cause + ": " + x.CauseText, fmt.Sprint(x.SlurmJobID)})
	}
}

// previewSync asks squeue here which allocations it does not know.
func previewSync(ctx context.Context, a *cli.Factory, b *queueBefore) (*syncReport, error) {
	r := &syncReport{WorkflowID: b.workflowID, DryRun: true, Details: []lostJob{}}
	if len(b.live) == 0 {
		return r, nil
	}
	queue, err := a.SlurmClient().Queue(ctx, slurm.QueueQuery{User: a.User()})
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "ask squeue: %v", err)
	}
	for _, x := range b.live {
		job, known := queue.Find(slurm.JobID{Number: x.SlurmJobID})
		switch {
		case x.SlurmJobID == 0 || known && !job.State.Over():
			r.Live++
		case x.StartMS == 0:
			r.PendingCleaned++
		default:
			x.Cause, x.CauseText = "gone", "squeue does not know it"
			if known {
				x.CauseText = "squeue says " + string(job.State)
			}
			r.lose(b.running, nil, x)
		}
	}
	return r, nil
}

func (r *syncReport) write(w io.Writer) {
	if r.Stale != "" {
		fmt.Fprintf(w, "Slurm was not asked: %s\n", r.Stale)
	}
	for _, d := range r.Details {
		fmt.Fprintf(w, "Job %d (%s) lost Slurm job %s: %s\n", d.JobID, cli.Printable(d.JobName), d.SlurmJobID, cli.Printable(d.Reason))
	}
	if r.PendingCleaned > 0 {
		closed := workflow.CountOf(int64(r.PendingCleaned), "allocation that never began was closed", "allocations that never began were closed")
		if r.DryRun {
			closed = workflow.CountOf(int64(r.PendingCleaned), "allocation that never began would be closed", "allocations that never began would be closed")
		}
		fmt.Fprintln(w, closed)
	}
	if r.NodesDeactivated > 0 {
		fmt.Fprintf(w, "%s gone\n", workflow.CountOf(int64(r.NodesDeactivated), "runner is", "runners are"))
	}
	if len(r.Details)+r.PendingCleaned+r.NodesDeactivated == 0 {
		fmt.Fprintln(w, "Everything is as it was recorded.")
	}
	fmt.Fprintf(w, "Allocations that are there: %d\n", r.Live)
}
