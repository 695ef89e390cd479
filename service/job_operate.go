package service

import (
	"context"
	"strconv"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// CancelJob cancels one job, or says what that would end.
func CancelJob(ctx context.Context, s *Service, by Caller, id int64, q *api.JobCancellation) (api.JobsOperated, error) {
	j, err := s.Store.Jobs.Get(ctx, id)
	if err != nil {
		return api.JobsOperated{}, err
	}
	return OperateJobs(ctx, s, by, j.WorkflowID, operate.Cancel,
		&api.JobPrioritization{JobOperation: api.JobOperation{JobChoice: api.JobChoice{Jobs: []string{strconv.FormatInt(id, 10)}}, Reason: q.Reason, DryRun: q.DryRun}})
}

// OperateJobs cancels, holds, releases or prioritizes the chosen jobs, or says what that would
// do.
func OperateJobs(ctx context.Context, s *Service, by Caller, workflowID int64, verb operate.Verb, q *api.JobPrioritization) (api.JobsOperated, error) {
	o := store.JobOperation{Verb: verb, User: by.User, Reason: q.Reason, First: q.First, Choice: store.JobChoice{
		Jobs: q.Jobs, Statuses: q.Statuses, Causes: q.Causes, Group: q.Group, All: q.All,
	}}
	if verb == operate.Prioritize {
		if q.First == (q.Priority != nil) {
			return api.JobsOperated{}, workflow.Errorf(workflow.CodeInvalid, "give either priority or first")
		}
		if q.Priority != nil {
			o.Priority = *q.Priority
		}
	}
	carryOut := s.Store.Jobs.Operate
	if q.DryRun {
		carryOut = s.Store.Jobs.ProposeOperate
	}
	done, err := carryOut(ctx, workflowID, o)
	out := api.JobsOperated{WorkflowID: workflowID, Verb: verb, DryRun: q.DryRun, CPUSeconds: done.CPUSeconds, EndsRun: done.EndsRun, Jobs: []api.OperatedJob{}}
	if verb == operate.Prioritize {
		out.Priority = &done.Priority
	}
	for i := range done.Jobs {
		j := &done.Jobs[i]
		live := liveJob(&j.LiveJob)
		out.Jobs = append(out.Jobs, api.OperatedJob{JobID: j.ID, Name: j.Name, Status: j.Status, StartTime: live.StartTime, Effect: j.Effect, Reason: j.Why, Named: j.Named})
	}
	for _, d := range done.Dependents {
		out.Dependents = append(out.Dependents, api.DependentJob{JobID: d.ID, Name: d.Name, Status: d.Status})
	}
	return out, err
}
