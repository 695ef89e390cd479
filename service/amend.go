package service

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
)

// Amend changes a workflow so that it has the jobs of a definition, and starts a new run
// with those that have to run again, or, in a dry run, returns which these are and what
// would reject it. The caller is the user of the definition. It returns the errors of the
// store.
func Amend(ctx context.Context, s *store.Store, workflowID int64, d *workflow.Definition, q api.AmendQuery) (api.Amendment, error) {
	carryOut := s.Workflows.Amend
	if q.DryRun {
		carryOut = s.Workflows.ProposeAmend
	}
	done, err := carryOut(ctx, workflowID, d, store.AmendOptions{RunID: q.RunID, AllNew: q.AllNew, Stated: q.Stated, TakeBack: q.TakeBack, User: d.User})
	if err != nil {
		return api.Amendment{}, err
	}
	return amendment(d, &done, q.DryRun), nil
}

// amendment returns a plan as an answer.
func amendment(d *workflow.Definition, done *store.Amended, dryRun bool) api.Amendment {
	plan := done.Plan
	byReason, runs := plan.Runs()
	out := api.Amendment{
		WorkflowID: done.Workflow.ID, RunID: done.Workflow.RunID, DryRun: dryRun, Counts: []api.AmendmentCount{}, Jobs: []api.AmendedJob{}, Removed: []string{},
		Runs: int64(runs), Unchanged: int64(len(plan.Jobs) + len(plan.Spawned) - runs), AllNew: plan.Matched == 0 && len(done.Earlier.Jobs) > 0,
	}
	if done.Obstacle != nil {
		out.Obstacle = done.Obstacle.Error()
	}
	for _, reason := range amend.Reasons() {
		if n := byReason[reason]; n > 0 {
			out.Counts = append(out.Counts, api.AmendmentCount{Reason: reason, Jobs: int64(n)})
		}
	}
	add := func(name string, c *amend.Change) {
		if c.Reason == amend.Kept && len(c.Settings) == 0 {
			return
		}
		j := api.AmendedJob{Name: name, Reason: c.Reason, Difference: c.Difference, Settings: c.Settings}
		if c.Earlier >= 0 {
			j.Status = &done.Earlier.Jobs[c.Earlier].State.Status
		}
		out.Jobs = append(out.Jobs, j)
	}
	for i := range plan.Jobs {
		add(d.Jobs[i].Name, &plan.Jobs[i])
	}
	for i := range plan.Spawned {
		c := &plan.Spawned[i]
		add(done.Earlier.Jobs[c.Earlier].Name, c)
	}
	for _, e := range plan.Removed {
		out.Removed = append(out.Removed, done.Earlier.Jobs[e].Name)
	}
	return out
}
