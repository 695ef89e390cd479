package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) scheduleRoutes() []route {
	return []route{
		handle("POST", "/workflows/{id}/submit", "Have the daemon ask Slurm for the allocations of the current run, from now until it ends", s.submitWorkflow, conflict409),
		handle("POST", "/workflows/{id}/plan", "Say which allocations a submission would ask for; nothing is changed", s.planWorkflow, conflict409),
	}
}

func (s *Server) submitOptions(ctx context.Context, id int64, b *api.SubmitRequest) (o workflow.SubmitOptions, err error) {
	o = workflow.SubmitOptions{OutputDir: b.OutputDir, MaxParallelJobs: b.MaxParallelJobs, Account: b.Account, Partition: b.Partition, QOS: b.QOS}
	if b.NoAutoSchedule != nil {
		o.NoAutoSchedule = *b.NoAutoSchedule
		return o, nil
	}
	o.NoAutoSchedule, err = s.Store.NoAutoSchedule(ctx, id)
	return o, err
}

// submitWorkflow answers when Slurm has been asked once. The wish is stored
// before, so that it outlives whatever happens then.
func (s *Server) submitWorkflow(r *request[idParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	if s.Scheduler == nil {
		return api.SchedulePlan{}, errNoSlurm
	}
	options, err := s.submitOptions(r.Context(), r.Params.ID, &r.Body)
	if err == nil {
		err = options.Validate()
	}
	if err != nil {
		return api.SchedulePlan{}, err
	}
	fitness, err := s.fitness(r.Context(), r.Params.ID, &options, r.Body.AutoSchedule, r.Body.SkipChecks)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	report, err := s.Scheduler.Submit(r.Context(), r.Params.ID, func() error {
		if err := s.Store.Submit(r.Context(), r.Params.ID, options, r.Body.AutoSchedule, r.user()); err != nil {
			return err
		}
		s.site.use()
		return nil
	})
	if err != nil {
		return api.SchedulePlan{}, err
	}
	return withFitness(fromReport(report), fitness), nil
}

// fitness checks whether jobs of a workflow can never run in what it can get. Unless
// that is to be skipped, they are refused; a check that cannot be made refuses nobody.
func (s *Server) fitness(ctx context.Context, workflowID int64, o *workflow.SubmitOptions, limits *workflow.AutoSchedule, skip bool) (f scheduler.Fitness, err error) {
	if f, err = s.Scheduler.Fitness(ctx, workflowID, o, limits); err != nil || skip || len(f.Unfit) == 0 {
		return f, err
	}
	lines := []string{fmt.Sprintf("jobs of workflow %d can never run:", workflowID)}
	for _, u := range f.Unfit {
		lines = append(lines, u.String())
	}
	return f, &httpError{status: http.StatusUnprocessableEntity, detail: api.ErrorDetail{
		Error: api.KindUnfit, Message: strings.Join(lines, "\n"),
		Hint: "change what these jobs need, or the Slurm schedulers, and submit again; --skip-checks (skip_checks) goes on without them",
	}}
}

func withFitness(p api.SchedulePlan, f scheduler.Fitness) api.SchedulePlan {
	p.Unchecked = f.Unchecked
	p.Unfit = each(f.Unfit, func(u scheduler.Unfit) api.UnfitJobs {
		return api.UnfitJobs{First: u.First, Jobs: u.Jobs, Reason: u.Reason, Text: u.String()}
	})
	return p
}

func (s *Server) planWorkflow(r *request[idParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	if s.Scheduler == nil {
		return api.SchedulePlan{}, errNoSlurm
	}
	s.site.use()
	options, err := s.submitOptions(r.Context(), r.Params.ID, &r.Body)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	report, err := s.Scheduler.Plan(r.Context(), r.Params.ID, options, r.Body.AutoSchedule)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	fitness, err := s.fitness(r.Context(), r.Params.ID, &options, r.Body.AutoSchedule, true)
	return withFitness(fromReport(report), fitness), err
}

func fromReport(r *scheduler.Report) api.SchedulePlan {
	return api.SchedulePlan{
		WorkflowID: r.WorkflowID, AutoSchedule: r.AutoSchedule, LookedAfter: r.LookedAfter, Planned: each(r.Planned, fromPlanned), Asked: each(r.Asked, fromAllocation),
		Refused: each(r.Refused, func(no scheduler.Refusal) string { return no.Text }), ReadyJobs: each(r.Covered, fromCovered), Text: r.Lines(), NextMS: r.Next.UnixMilli(),
		Refusals: each(r.Refused, func(no scheduler.Refusal) api.ScheduleRefusal {
			return api.ScheduleRefusal{Class: string(no.Class), Text: no.Text}
		}),
		Canceled: each(r.Canceled, func(a scheduler.Action) api.CanceledAllocation {
			return api.CanceledAllocation{AllocationID: a.Allocation, Reason: a.Reason}
		}),
		Waits: each(r.Waits, func(a scheduler.Action) api.ScheduleWait {
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

// unixMilli is 0 for the zero time.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// places is what is known of allocations for the ready jobs of a workflow; of
// one class, or of all if it is 0.
func (s *Server) places(ctx context.Context, workflowID, class int64) (p workflow.PlaceFacts, err error) {
	live, _, err := s.Store.Allocations(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, store.Page{Limit: api.MaxLimit})
	if err != nil || s.Scheduler == nil {
		return workflow.PlaceFacts{Allocations: live}, err
	}
	p.Allocations = live
	review, err := s.Scheduler.Review(ctx, workflowID)
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
