package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
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
	if answer.NoForecast = foreign(ctx, s, r.site); answer.NoForecast != "" {
		return answer, nil
	}
	report, err := planReady(ctx, s, workflowID, q)
	if err != nil {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("the allocations for the ready jobs are not planned: %v", err))
		return answer, ctx.Err()
	}
	answer.Choices, answer.NoForecast = each(report.Choices, fromChoice), report.NoForecast
	return answer, nil
}

// PlanDefinition plans the allocations of a workflow that does not exist, like those of one.
// Create writes it to a database in memory, which is discarded, and returns its id.
func PlanDefinition(ctx context.Context, s *Service, q *api.AllocationPlanRequest, create func(ctx context.Context, scratch *store.Store) (int64, error)) (answer api.AllocationPlan, err error) {
	scratch, err := store.Open(ctx, store.Options{InMemory: true, Now: s.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	id, err := create(ctx, scratch)
	if err != nil {
		return answer, err
	}
	if err := scratch.Workflows.Initialize(ctx, id, store.InitializeOptions{}); err != nil {
		return answer, err
	}
	tried := *s
	tried.Store = scratch
	if s.Scheduler != nil {
		tried.Scheduler = s.Scheduler.Over(scratch)
	}
	answer, err = tried.PlanAllocations(ctx, id, q)
	answer.WorkflowID = 0
	return answer, err
}

// foreign returns why the daemon cannot say when allocations on a site would start: it is on
// another one. It is empty if it can.
func foreign(ctx context.Context, s *Service, site *siteconfigs.Site) string {
	if s.Site == nil {
		return ""
	}
	here, err := s.Site(ctx)
	if err != nil || here.Name == site.Name {
		return ""
	}
	return fmt.Sprintf("the daemon is on %s and does not know the queue of %s", here.Title(), site.Title())
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
