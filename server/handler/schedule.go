package handler

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
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

func (h schedules) submitOptions(ctx context.Context, id int64, b *api.SubmitRequest) (o compute.SubmitOptions, err error) {
	o = compute.SubmitOptions{OutputDir: b.OutputDir, MaxParallelJobs: b.MaxParallelJobs, Account: b.Account, Partition: b.Partition, QOS: b.QOS}
	if b.NoAutoSchedule != nil {
		o.NoAutoSchedule = *b.NoAutoSchedule
		return o, nil
	}
	o.NoAutoSchedule, err = h.Store.Scheduling.IsOff(ctx, id)
	return o, err
}

// submitWorkflow answers after the first requests to Slurm. The submission is stored
// before them, so that it survives a crash.
func (h schedules) submitWorkflow(r *rest.Request[IDParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	if h.Scheduler == nil {
		return api.SchedulePlan{}, errNoSlurm
	}
	options, err := h.submitOptions(r.Context(), r.Params.ID, &r.Body)
	if err == nil {
		err = options.Validate()
	}
	if err != nil {
		return api.SchedulePlan{}, err
	}
	fitness, err := h.fitness(r.Context(), r.Params.ID, &options, r.Body.AutoSchedule, r.Body.SkipChecks)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	report, err := h.Scheduler.Submit(r.Context(), r.Params.ID, func() error {
		if err := h.Store.Scheduling.Submit(r.Context(), r.Params.ID, options, r.Body.AutoSchedule, r.User()); err != nil {
			return err
		}
		h.UseSite()
		return nil
	})
	if err != nil {
		return api.SchedulePlan{}, err
	}
	return withFitness(fromReport(report), fitness), nil
}

// fitness checks whether jobs of a workflow can never run in what it can get. Unless
// that is to be skipped, the submission is rejected; a check that cannot be made is passed.
func (d *Deps) fitness(ctx context.Context, workflowID int64, o *compute.SubmitOptions, limits *workflow.AutoSchedule, skip bool) (f scheduler.Fitness, err error) {
	if f, err = d.Scheduler.Fitness(ctx, workflowID, o, limits); err != nil || skip || len(f.Unfit) == 0 {
		return f, err
	}
	lines := []string{fmt.Sprintf("jobs of workflow %d can never run:", workflowID)}
	for _, u := range f.Unfit {
		lines = append(lines, u.String())
	}
	return f, &rest.HTTPError{Status: http.StatusUnprocessableEntity, Detail: api.ErrorDetail{
		Error: api.KindUnfit, Message: strings.Join(lines, "\n"),
		Hint: "change what these jobs need, or the Slurm schedulers, and submit again; --skip-checks (skip_checks) submits anyway",
	}}
}

func withFitness(p api.SchedulePlan, f scheduler.Fitness) api.SchedulePlan {
	p.Unchecked = f.Unchecked
	p.Unfit = Each(f.Unfit, func(u scheduler.Unfit) api.UnfitJobs {
		return api.UnfitJobs{First: u.First, Jobs: u.Jobs, Reason: u.Reason, Text: u.String()}
	})
	return p
}

func (h schedules) planWorkflow(r *rest.Request[IDParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	if h.Scheduler == nil {
		return api.SchedulePlan{}, errNoSlurm
	}
	h.UseSite()
	options, err := h.submitOptions(r.Context(), r.Params.ID, &r.Body)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	report, err := h.Scheduler.Plan(r.Context(), r.Params.ID, options, r.Body.AutoSchedule)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	fitness, err := h.fitness(r.Context(), r.Params.ID, &options, r.Body.AutoSchedule, true)
	return withFitness(fromReport(report), fitness), err
}

func fromReport(r *scheduler.Report) api.SchedulePlan {
	return api.SchedulePlan{
		WorkflowID: r.WorkflowID, AutoSchedule: r.AutoSchedule, LookedAfter: r.LookedAfter, Planned: Each(r.Planned, fromPlanned), Asked: Each(r.Asked, fromAllocation),
		Refused: Each(r.Refused, func(no scheduler.Refusal) string { return no.Text }), ReadyJobs: Each(r.Covered, fromCovered), Text: r.Lines(), NextMS: r.Next.UnixMilli(),
		Refusals: Each(r.Refused, func(no scheduler.Refusal) api.ScheduleRefusal {
			return api.ScheduleRefusal{Class: string(no.Class), Text: no.Text}
		}),
		Canceled: Each(r.Canceled, func(a scheduler.Action) api.CanceledAllocation {
			return api.CanceledAllocation{AllocationID: a.Allocation, Reason: a.Reason}
		}),
		Waits: Each(r.Waits, func(a scheduler.Action) api.ScheduleWait {
			return api.ScheduleWait{Kind: a.Kind.String(), Pool: a.Pool, UntilMS: unixMilli(a.Until), Reason: a.Reason}
		}),
	}
}

func fromPlanned(p scheduler.Planned) api.PlannedAllocations {
	q := &p.Request
	return api.PlannedAllocations{
		ActionID: max(p.ActionID, 0), Pool: p.Pool, SchedulerConfigID: p.SchedulerID, Count: int64(p.Count), Account: q.Account, Partition: q.Partition,
		Nodes: q.Nodes, CPUs: q.Offer.CPUs, MemoryBytes: q.Offer.MemoryBytes, GPUs: q.Offer.GPUs, WalltimeSeconds: q.WalltimeS,
		Exclude: q.Exclude, Probe: p.Probe, Reason: p.Reason,
	}
}

func fromCovered(c scheduler.Covered) api.ScheduledJobs {
	return api.ScheduledJobs{
		Ready: c.Ready, Live: c.Live, Pending: c.Pending, Asked: c.Asked, Uncovered: c.Uncovered, Reason: c.Reason,
		CPUs: c.Class.CPUs, MemoryBytes: c.Class.MemoryBytes, GPUs: c.Class.GPUs, Nodes: c.Class.Nodes, RuntimeSeconds: c.Class.RuntimeSeconds,
	}
}

// unixMilli returns t in milliseconds, 0 for the zero time.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// places returns what is known of allocations for the ready jobs of a workflow: of
// one class, or of all if it is 0.
func (d *Deps) places(ctx context.Context, workflowID, class int64) (p explain.PlaceFacts, err error) {
	live, _, err := d.Store.Allocations.List(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, store.Page{Limit: api.MaxLimit})
	if err != nil || d.Scheduler == nil {
		return explain.PlaceFacts{Allocations: live}, err
	}
	p.Allocations = live
	review, err := d.Scheduler.Review(ctx, workflowID)
	if err != nil || review == nil {
		return p, err
	}
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
