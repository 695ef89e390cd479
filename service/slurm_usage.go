package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// SlurmUsage returns how long the allocations of a workflow had nodes and CPUs. It calls
// sacct once, if there were any, and compares what was expected of them with what happened. It
// returns CodeConflict without Slurm, and CodeUnavailable if sacct fails.
func (s *Service) SlurmUsage(ctx context.Context, workflowID int64) (api.SlurmUsage, error) {
	jobs, since, err := s.slurmJobs(ctx, workflowID)
	if err != nil {
		return api.SlurmUsage{}, err
	}
	var records slurm.Accounting
	if len(jobs) > 0 {
		if s.Slurm == nil {
			return api.SlurmUsage{}, ErrNoSlurm
		}
		if records, err = s.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: jobs, Since: since, Duplicates: true}); err != nil {
			return api.SlurmUsage{}, workflow.Errorf(workflow.CodeUnavailable, "ask sacct: %v", err)
		}
	}
	u := records.Usage(jobs)
	answer := api.SlurmUsage{
		WorkflowID: workflowID, TotalSlurmJobs: len(jobs), TotalNodes: u.Nodes, UnknownNodeCount: u.UnknownNodes, Errors: []string{},
		TotalNodeTime: slurm.FormatDuration(u.NodeTime), TotalNodeTimeSeconds: int64(u.NodeTime / time.Second),
		TotalCPUTime: slurm.FormatDuration(u.CPUTime), TotalCPUTimeSeconds: int64(u.CPUTime / time.Second),
	}
	for _, id := range u.Missing {
		answer.Errors = append(answer.Errors, fmt.Sprintf("there is no accounting record of Slurm job %s", id))
	}
	uses, err := s.Store.Allocations.Uses(ctx, workflowID)
	answer.Forecast = compute.Calibrate(uses, s.Now().UnixMilli())
	return answer, err
}

// slurmJobs returns the Slurm jobs that were ever requested for a workflow, by us or by
// torc's clients, ascending, and since when there can be any.
func (s *Service) slurmJobs(ctx context.Context, workflowID int64) (jobs []slurm.JobID, since time.Time, err error) {
	w, err := s.Store.Workflows.Get(ctx, workflowID)
	if err != nil {
		return nil, since, err
	}
	// Allocations are younger than their workflow.
	if since, err = time.Parse(time.RFC3339Nano, w.Timestamp); err != nil {
		since = time.Unix(0, 0)
	}
	nodes, err := all(func(page store.Page) ([]compute.ScheduledNode, int64, error) {
		return s.Store.ScheduledComputeNodes.List(ctx, store.ScheduledFilter{WorkflowID: workflowID}, page)
	})
	for _, n := range nodes {
		if n.SchedulerType == compute.SchedulerSlurm && n.SchedulerID > 0 {
			jobs = append(jobs, slurm.JobID{Number: n.SchedulerID})
		}
	}
	slices.SortFunc(jobs, func(x, y slurm.JobID) int { return int(x.Number - y.Number) })
	return slices.Compact(jobs), since.Add(-time.Hour), err
}
