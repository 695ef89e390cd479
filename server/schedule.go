package server

import (
	"context"
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

func submitOptions(b *api.SubmitRequest) workflow.SubmitOptions {
	return workflow.SubmitOptions{OutputDir: b.OutputDir, MaxParallelJobs: b.MaxParallelJobs, Account: b.Account, Partition: b.Partition, QOS: b.QOS, NoAutoSchedule: b.NoAutoSchedule}
}

// submitWorkflow answers when Slurm has been asked once. The wish is stored
// before, so that it outlives whatever happens then.
func (s *Server) submitWorkflow(r *request[idParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	if s.Scheduler == nil {
		return api.SchedulePlan{}, errNoSlurm
	}
	report, err := s.Scheduler.Submit(r.Context(), r.Params.ID, func() error {
		if err := s.Store.Submit(r.Context(), r.Params.ID, submitOptions(&r.Body), r.Body.AutoSchedule, r.user()); err != nil {
			return err
		}
		s.site.use()
		return nil
	})
	if err != nil {
		return api.SchedulePlan{}, err
	}
	return fromReport(report), nil
}

func (s *Server) planWorkflow(r *request[idParams, api.SubmitRequest]) (api.SchedulePlan, error) {
	if s.Scheduler == nil {
		return api.SchedulePlan{}, errNoSlurm
	}
	s.site.use()
	report, err := s.Scheduler.Plan(r.Context(), r.Params.ID, submitOptions(&r.Body), r.Body.AutoSchedule)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	return fromReport(report), nil
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
	return p, nil
}
