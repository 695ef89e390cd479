package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// submit submits the workflow, or says in a dry run what would become of its actions.
func (r *regeneration) submit(ctx context.Context) error {
	s, q := r.service, *r.request.Submit
	if err := r.suppress(ctx); err != nil || r.DryRun {
		return err
	}
	if q.AutoSchedule == nil {
		q.AutoSchedule = &workflow.AutoSchedule{}
	}
	plan, err := s.Submit(ctx, r.by, r.WorkflowID, &q)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", r.WorkflowID, err)
	}
	r.Submission = &plan
	r.Warnings = append(r.Warnings, plan.Rejected...)
	if plan.RequestsMore {
		return nil
	}
	plan.NoAllocation = nil // the requests of this call decide
	if err := r.requestOnce(ctx); err != nil {
		return err
	}
	if len(plan.Refusals) > 0 {
		plan.NoAllocation = &api.Obstacle{Message: fmt.Sprintf("ask Slurm for allocations of workflow %d: %s", r.WorkflowID, plan.Refusals[0].Text)}
	}
	return nil
}

// suppress marks the actions that are due to request allocations as carried out: what jobs
// need is requested otherwise.
func (r *regeneration) suppress(ctx context.Context) error {
	actions, err := r.service.Store.Actions.List(ctx, r.WorkflowID)
	if err != nil {
		return err
	}
	for i := range actions {
		x := &actions[i]
		due := x.IsPending()
		if r.Start != nil {
			due = slices.Contains(r.Start.DueActions, x.ID)
		}
		if x.ActionType != action.ScheduleNodes || !due {
			continue
		}
		if !r.DryRun {
			err := r.service.Store.Actions.Claim(ctx, r.WorkflowID, x.ID, nil)
			if workflow.CodeOf(err) == workflow.CodeConflict {
				continue // a runner has just claimed it
			}
			if err != nil {
				return fmt.Errorf("suppress action %d: %w", x.ID, err)
			}
		}
		r.SuppressedActions = append(r.SuppressedActions, x.ID)
	}
	return nil
}

// requestOnce requests what is missing for the jobs that are ready: nothing requests more
// later. What Slurm rejects is part of the answer.
func (r *regeneration) requestOnce(ctx context.Context) error {
	q := r.request.Submit
	for i := range r.Schedulers {
		p := &r.Schedulers[i]
		switch {
		case p.NumAllocations == 0:
			continue
		case p.HasDependencies:
			r.Warnings = append(r.Warnings, fmt.Sprintf("nothing asks for the %s of %s, whose jobs wait for others: repeat the command when they are ready",
				workflow.CountOf(p.NumAllocations, "allocation", "allocations"), p.Name))
			continue
		}
		answer, err := r.service.Allocate(ctx, r.by, r.WorkflowID, &api.AllocateRequest{
			SchedulerConfigID: *p.ID, Count: p.NumAllocations, OutputDir: q.OutputDir, MaxParallelJobs: q.MaxParallelJobs, SkipChecks: q.SkipChecks,
		})
		if class := slurm.ClassOf(err); class != "" {
			r.Submission.Rejected = append(r.Submission.Rejected, err.Error())
			r.Submission.Refusals = append(r.Submission.Refusals, api.ScheduleRefusal{Class: string(class), Text: err.Error()})
			r.Warnings = append(r.Warnings, err.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("ask Slurm for allocations of workflow %d: %w", r.WorkflowID, err)
		}
		r.Submission.Requested = append(r.Submission.Requested, answer.Items...)
		if answer.Rejected != "" {
			r.Warnings = append(r.Warnings, answer.Rejected)
		}
	}
	return nil
}
