package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// packingReport is what workflows diagnose says in JSON.
type packingReport struct {
	WorkflowID              int64                 `json:"workflow_id"`
	ActiveAllocations       int                   `json:"active_allocations"`
	AllocationsWithWalltime int                   `json:"allocations_with_walltime"`
	AllocationsUnlimited    int                   `json:"allocations_unlimited"`
	HasUnlimited            bool                  `json:"has_unlimited_allocation"`
	ReadyJobs               int64                 `json:"ready_jobs"`
	ReadyJobsWithRuntime    int64                 `json:"ready_jobs_with_runtime"`
	Remaining               *workflow.SecondsSpan `json:"allocation_remaining,omitempty"`
	Runtime                 *workflow.SecondsSpan `json:"ready_job_runtime,omitempty"`
	BlockedJobs             int64                 `json:"runtime_blocked_jobs"`
	TooShortForLongest      int                   `json:"allocations_too_short_for_longest"`
	Blocked                 bool                  `json:"runtime_blocked"`
}

func newWorkflowsDiagnoseCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnose [WORKFLOW]",
		Short: "Compare what allocations have left with how long ready jobs run",
		Long: `Compare the time that the live allocations of a workflow have left with the
declared runtimes of its ready jobs, and say which of them no allocation can end.
` + "`torc-slurm why`" + ` says of one job, or of all that wait, what keeps it back.`,
		Example: `  torc-slurm workflows diagnose 12
  torc-slurm -f json workflows diagnose 12 | jq .runtime_blocked`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.RunE = a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		r, err := a.diagnose(ctx, c, id)
		if err != nil {
			return err
		}
		return a.showRecord(r, func(w io.Writer) { r.write(w) })
	})
	return cmd
}

func (a *app) diagnose(ctx context.Context, c *connection, id int64) (*packingReport, error) {
	remaining, err := a.remainingTimes(ctx, c, id)
	if err != nil {
		return nil, err
	}
	ready, err := readyRuntimes(ctx, c, id)
	if err != nil {
		return nil, err
	}
	p := workflow.PackWalltime(remaining, ready, workflow.RuntimeSlack)
	return &packingReport{
		WorkflowID: id, ActiveAllocations: p.Allocations, AllocationsWithWalltime: p.WithWalltime, AllocationsUnlimited: p.Unlimited,
		HasUnlimited: p.Unlimited > 0, ReadyJobs: p.ReadyJobs, ReadyJobsWithRuntime: p.ReadyJobsWithRuntime, Remaining: p.Remaining,
		Runtime: p.Runtime, BlockedJobs: p.BlockedJobs, TooShortForLongest: p.TooShortForLongest, Blocked: p.BlockedJobs > 0,
	}, nil
}

// remainingTimes are the seconds that the live runners have left.
func (a *app) remainingTimes(ctx context.Context, c *connection, id int64) ([]*int64, error) {
	active := true
	var remaining []*int64
	for n, err := range c.ComputeNodes(ctx, client.ComputeNodeFilter{WorkflowID: id, IsActive: &active}) {
		if err != nil {
			return nil, err
		}
		if n.EndTime == nil {
			remaining = append(remaining, nil)
			continue
		}
		end, err := time.Parse(time.RFC3339, *n.EndTime)
		if err != nil {
			return nil, fmt.Errorf("end time of compute node %d: %w", *n.ID, err)
		}
		left := max(0, int64(end.Sub(a.Now())/time.Second))
		remaining = append(remaining, &left)
	}
	return remaining, nil
}

// readyRuntimes counts the ready jobs by the runtime that they declare.
func readyRuntimes(ctx context.Context, c *connection, id int64) ([]workflow.RuntimeCount, error) {
	seconds := map[int64]int64{}
	for q, err := range c.ResourceRequirements(ctx, client.ResourceRequirementsFilter{WorkflowID: id}) {
		if err != nil {
			return nil, err
		}
		if q.Name == workflow.DefaultRequirements || q.Runtime == nil {
			continue // nobody declared it
		}
		s, err := workflow.ParseRuntime(*q.Runtime)
		if err != nil {
			return nil, fmt.Errorf("runtime of resource requirements %d: %w", *q.ID, err)
		}
		seconds[*q.ID] = s
	}
	status := workflow.Ready
	jobs := map[int64]int64{}
	for j, err := range c.Jobs(ctx, client.JobFilter{WorkflowID: id, Status: &status}) {
		if err != nil {
			return nil, err
		}
		runtime := int64(0)
		if j.ResourceRequirementsID != nil {
			runtime = seconds[*j.ResourceRequirementsID]
		}
		jobs[runtime]++
	}
	var ready []workflow.RuntimeCount
	for runtime, n := range jobs {
		ready = append(ready, workflow.RuntimeCount{Seconds: runtime, Jobs: n})
	}
	return ready, nil
}

func (r *packingReport) write(w io.Writer) {
	duration := func(s int64) time.Duration { return time.Duration(s) * time.Second }
	fmt.Fprintf(w, "Live runners:  %d, %d without end\n", r.ActiveAllocations, r.AllocationsUnlimited)
	if s := r.Remaining; s != nil {
		fmt.Fprintf(w, "  time left:   %s to %s, median %s\n", duration(s.Min), duration(s.Max), duration(s.Median))
	}
	fmt.Fprintf(w, "Ready jobs:    %d, %d declare a runtime\n", r.ReadyJobs, r.ReadyJobsWithRuntime)
	if s := r.Runtime; s != nil {
		fmt.Fprintf(w, "  runtime:     %s to %s, median %s\n", duration(s.Min), duration(s.Max), duration(s.Median))
	}
	switch {
	case r.Blocked:
		fmt.Fprintf(w, "%s would not end in any of these allocations; ask for longer ones\n", workflow.CountOf(r.BlockedJobs, "ready job", "ready jobs"))
	case r.TooShortForLongest > 0:
		fmt.Fprintf(w, "%s too short for the longest ready job\n", workflow.CountOf(int64(r.TooShortForLongest), "allocation is", "allocations are"))
	case r.ActiveAllocations == 0 && r.ReadyJobs > 0:
		fmt.Fprintln(w, "Nobody works on it.")
	default:
		fmt.Fprintln(w, "No ready job is too long for what is there.")
	}
}
