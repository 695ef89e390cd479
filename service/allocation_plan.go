package service

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// PlanAllocations says which allocations suit the jobs of a workflow that have not begun,
// why these, and what they cost. Unless the request is offline, it asks Slurm how busy it
// is and when it would start them; where Slurm does not answer, a warning says so. Nothing
// is changed. A workflow without such jobs and a lack of a site are CodeConflict, jobs that
// fit nowhere and options that say nothing CodeInvalid.
func (s *Service) PlanAllocations(ctx context.Context, workflowID int64, q *api.AllocationPlanRequest) (api.AllocationPlan, error) {
	answer := api.AllocationPlan{WorkflowID: workflowID}
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
	answer.AllocationPlan, err = scheduler.PlanAllocations(ctx, r.work, r.site, o)
	return answer, err
}
