package handler

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// schedules handles requests about submissions and their plans.
type schedules struct{ *Deps }

func (h schedules) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/submit", "Have the daemon request the allocations of the current run, from now until it ends", h.submitWorkflow, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/plan", "Show which allocations a submission would request; nothing is changed", h.planWorkflow, rest.Conflict409),
	}
}

func (h schedules) submitWorkflow(r *rest.Request[IDParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	return h.verbs().Submit(r.Context(), by(r), r.Params.ID, &r.Body)
}

func (h schedules) planWorkflow(r *rest.Request[IDParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	return h.verbs().ProposeSubmission(r.Context(), r.Params.ID, &r.Body)
}

// places returns what is known of allocations for the ready jobs of a workflow: of
// one class, or of all if it is 0.
func (d *Deps) places(ctx context.Context, workflowID, class int64) (p explain.PlaceFacts, err error) {
	live, _, err := d.Store.Allocations.List(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, store.Page{Limit: api.MaxLimit})
	p = explain.PlaceFacts{Allocations: live, NowMS: d.Now().UnixMilli(), Estimates: d.estimates(live)}
	if err != nil || d.Scheduler == nil {
		return p, err
	}
	review, err := d.Scheduler.Review(ctx, workflowID)
	if err != nil || review == nil {
		return p, err
	}
	p.NoForecast = review.NoForecast
	for _, c := range review.Covered {
		if class == 0 || c.ClassID == class {
			p.Ready = append(p.Ready, c.Lines()...)
			p.Unplaced += c.Uncovered
		}
	}
	if class == 0 && p.Unplaced > 0 {
		p.Ready = append(p.Ready, review.WaitLines()...)
	}
	return p, nil
}

// estimates returns when Slurm expected at the last poll to start pending allocations, by
// their ids.
func (d *Deps) estimates(live []compute.Allocation) map[int64]int64 {
	if d.Poller == nil {
		return nil
	}
	all, seen := map[int64]int64{}, d.Poller.Seen()
	for i := range live {
		if job := seen.Jobs[live[i].SlurmJobID]; job.State.Pending() && !job.Start.IsZero() {
			all[live[i].ID] = job.Start.UnixMilli()
		}
	}
	return all
}
