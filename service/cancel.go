package service

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Cancel cancels a workflow: its runners end the jobs that they hold, its allocations are
// canceled, and no other job starts. To cancel it again changes nothing.
func (s *Service) Cancel(ctx context.Context, workflowID int64) (workflow.Workflow, error) {
	return s.Store.Workflows.Cancel(ctx, workflowID)
}

// ProposeCancel says what Cancel would end, and how much work would be lost. Nothing is
// changed.
func (s *Service) ProposeCancel(ctx context.Context, workflowID int64) (api.CancellationProposal, error) {
	p := api.CancellationProposal{WorkflowID: workflowID, Jobs: []api.LiveJob{}, Allocations: []api.LiveAllocation{}}
	w, err := s.Store.Workflows.Get(ctx, workflowID)
	if err != nil {
		return p, err
	}
	if p.RunID, p.IsCanceled = w.RunID, w.IsCanceled; p.IsCanceled {
		return p, nil
	}
	if err := s.proposeJobs(ctx, &p); err != nil {
		return p, err
	}
	allocations, err := all(func(page store.Page) ([]compute.Allocation, int64, error) {
		return s.Store.Allocations.List(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, page)
	})
	for i := range allocations {
		a := &allocations[i]
		if a.CancelMS == 0 {
			p.Allocations = append(p.Allocations, api.LiveAllocation{ID: a.ID, SlurmJobID: a.SlurmJobID, State: string(a.State)})
		}
	}
	return p, err
}

// proposeJobs adds the jobs that would end, what they have used, and how many would not
// start.
func (s *Service) proposeJobs(ctx context.Context, p *api.CancellationProposal) (err error) {
	if p.Jobs, p.CPUSeconds, err = liveJobs(ctx, s, p.WorkflowID, 0); err != nil {
		return err
	}
	summary, err := s.Store.Workflows.Summary(ctx, p.WorkflowID)
	if err != nil {
		return err
	}
	for _, status := range []workflow.JobStatus{workflow.Uninitialized, workflow.Blocked, workflow.Ready} {
		p.NotStarted += summary.Jobs[status]
	}
	return nil
}

// liveJobs returns the jobs that runners hold, those of one allocation or, with 0, of all,
// and what they have used so far in CPU seconds.
func liveJobs(ctx context.Context, s *Service, workflowID, allocationID int64) (found []api.LiveJob, cpuSeconds int64, err error) {
	found = []api.LiveJob{}
	requirements, err := s.requirementsByID(ctx, workflowID)
	if err != nil {
		return found, 0, err
	}
	for _, status := range []workflow.JobStatus{workflow.Pending, workflow.Running} {
		filter := store.JobFilter{WorkflowID: workflowID, Status: &status}
		if allocationID != 0 {
			filter.HeldInAllocation = &allocationID
		}
		live, err := all(func(page store.Page) ([]workflow.Job, int64, error) { return s.Store.Jobs.List(ctx, filter, page) })
		if err != nil {
			return found, 0, err
		}
		for i := range live {
			j := &live[i]
			found = append(found, api.LiveJob{JobID: j.ID, Name: j.Name, Status: j.Status, StartTime: j.StartTime})
			cpuSeconds += s.usedCPUSeconds(j, requirements)
		}
	}
	return found, cpuSeconds, nil
}

// usedCPUSeconds is for how long a job has run, times the CPUs that it requires; 0 if it
// has not started or no requirements are declared.
func (s *Service) usedCPUSeconds(j *workflow.Job, requirements map[int64]workflow.ResourceRequirements) int64 {
	if j.StartTime == nil || j.ResourceRequirementsID == nil {
		return 0
	}
	start, err := time.Parse(time.RFC3339, *j.StartTime)
	if err != nil {
		return 0
	}
	rr := requirements[*j.ResourceRequirementsID]
	return max(0, int64(s.Now().Sub(start).Seconds())) * rr.NumCPUs * max(1, rr.NumNodes)
}
