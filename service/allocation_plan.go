package service

import (
	"cmp"
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// PlanAllocations says which allocations suit the jobs of a workflow that have not begun,
// why these, and what they cost. Unless the request is offline, it asks Slurm how busy it
// is and when it would start them; where Slurm does not answer, a warning says so. Nothing
// is changed. A workflow without such jobs and a lack of a site are CodeConflict, jobs that
// fit nowhere and options that say nothing CodeInvalid. Of the ready jobs it also says which
// sets of allocations the daemon compares.
func (s *Service) PlanAllocations(ctx context.Context, workflowID int64, q *api.AllocationPlanRequest) (api.AllocationPlan, error) {
	answer := api.AllocationPlan{WorkflowID: workflowID, Choices: []api.AllocationChoice{}}
	if err := workflow.ValidatePreference(q.Prefer); err != nil {
		return answer, err
	}
	r, err := s.remaining(ctx, workflowID, &q.SchedulerOptions)
	if err != nil {
		return answer, err
	}
	if len(r.jobs) == 0 {
		if _, err := s.Store.Workflows.Get(ctx, workflowID); err != nil {
			return answer, err
		}
		return answer, workflow.Errorf(workflow.CodeConflict, "all jobs of workflow %d have begun or are disabled: none needs an allocation that is not there", workflowID).
			WithHint("`torc-slurm reset %d` makes its jobs run again", workflowID)
	}
	if err := r.prepare(ctx); err != nil {
		return answer, err
	}
	r.options.Stamp = "" // nothing gets the names
	o := scheduler.AllocationPlanOptions{GenerateOptions: r.options, NoEstimates: q.NoEstimates, Now: s.Now()}
	if !q.Offline && s.Slurm != nil {
		o.Prospects = s.Slurm
	}
	if answer.AllocationPlan, err = scheduler.PlanAllocations(ctx, r.work, r.site, o); err != nil || q.Offline || s.Scheduler == nil {
		return answer, err
	}
	report, err := planReady(ctx, s, workflowID, q)
	if err != nil {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("the allocations for the ready jobs are not planned: %v", err))
		return answer, ctx.Err()
	}
	answer.Choices, answer.NoForecast = each(report.Choices, fromChoice), report.NoForecast
	return answer, nil
}

// planReady plans the allocations of the ready jobs, as a submission would request them.
func planReady(ctx context.Context, s *Service, workflowID int64, q *api.AllocationPlanRequest) (*scheduler.Report, error) {
	s.UseSite()
	var o compute.SubmitOptions
	latest, err := s.Store.Scheduling.Submission(ctx, workflowID)
	if err != nil {
		return nil, err
	}
	if latest != nil {
		o = latest.Options
	}
	o.Account, o.Partition, o.Prefer = cmp.Or(q.Account, o.Account), cmp.Or(q.Partition, o.Partition), cmp.Or(q.Prefer, o.Prefer)
	return s.Scheduler.Plan(ctx, workflowID, o, nil)
}
