package service

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Diagnose compares the time that is left for the live runners of a workflow with the
// declared runtimes of its ready jobs.
func (s *Service) Diagnose(ctx context.Context, workflowID int64) (api.Diagnosis, error) {
	remaining, err := s.remainingTimes(ctx, workflowID)
	if err != nil {
		return api.Diagnosis{}, err
	}
	ready, err := s.readyRuntimes(ctx, workflowID)
	if err != nil {
		return api.Diagnosis{}, err
	}
	p := placement.PackWalltime(remaining, ready, placement.RuntimeSlack)
	return api.Diagnosis{
		WorkflowID: workflowID, ActiveAllocations: p.Allocations, AllocationsWithWalltime: p.WithWalltime, AllocationsUnlimited: p.Unlimited,
		HasUnlimited: p.Unlimited > 0, ReadyJobs: p.ReadyJobs, ReadyJobsWithRuntime: p.ReadyJobsWithRuntime, Remaining: p.Remaining,
		Runtime: p.Runtime, BlockedJobs: p.BlockedJobs, TooShortForLongest: p.TooShortForLongest, Blocked: p.BlockedJobs > 0,
	}, nil
}

// remainingTimes returns the seconds left for each live runner; nil for one without an
// end.
func (s *Service) remainingTimes(ctx context.Context, workflowID int64) (remaining []*int64, err error) {
	active := true
	nodes, err := all(func(page store.Page) ([]compute.Node, int64, error) {
		return s.Store.ComputeNodes.List(ctx, store.ComputeNodeFilter{WorkflowID: workflowID, IsActive: &active}, page)
	})
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.EndTime == nil {
			remaining = append(remaining, nil)
			continue
		}
		end, err := time.Parse(time.RFC3339, *n.EndTime)
		if err != nil {
			return nil, fmt.Errorf("end time of compute node %d: %w", n.ID, err)
		}
		remaining = append(remaining, new(max(0, int64(end.Sub(s.Now())/time.Second))))
	}
	return remaining, nil
}

// readyRuntimes counts the ready jobs by declared runtime.
func (s *Service) readyRuntimes(ctx context.Context, workflowID int64) (ready []placement.RuntimeCount, err error) {
	requirements, err := s.requirementsByID(ctx, workflowID)
	if err != nil {
		return nil, err
	}
	seconds := make(map[int64]int64) // by requirements
	for id, q := range requirements {
		if q.Name == workflow.DefaultRequirements {
			continue // not declared
		}
		if seconds[id], err = workflow.ParseRuntime(q.Runtime); err != nil {
			return nil, fmt.Errorf("runtime of resource requirements %d: %w", id, err)
		}
	}
	status := workflow.Ready
	jobs, err := s.jobs(ctx, workflowID, &status)
	if err != nil {
		return nil, err
	}
	count := make(map[int64]int64) // by runtime
	for _, j := range jobs {
		runtime := int64(0)
		if j.ResourceRequirementsID != nil {
			runtime = seconds[*j.ResourceRequirementsID]
		}
		count[runtime]++
	}
	for runtime, n := range count {
		ready = append(ready, placement.RuntimeCount{Seconds: runtime, Jobs: n})
	}
	return ready, nil
}
