package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Submit has the daemon request the allocations of a workflow's current run, from now until
// it ends, and returns what the first requests to Slurm came to. The submission is stored
// before them, so that it survives a crash. Repeated, it requests what is missing. It is
// CodeUnfit if jobs can never run in what the workflow can get, unless the request skips
// that check, and CodeConflict without Slurm and for a canceled workflow.
func (s *Service) Submit(ctx context.Context, by Caller, workflowID int64, q *api.SubmitRequest) (api.SchedulePlan, error) {
	if s.Scheduler == nil {
		return api.SchedulePlan{}, ErrNoSlurm
	}
	options, err := s.submitOptions(ctx, workflowID, q)
	if err == nil {
		err = options.Validate()
	}
	if err != nil {
		return api.SchedulePlan{}, err
	}
	fitness, err := s.fitness(ctx, workflowID, &options, q.AutoSchedule, q.SkipChecks)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	report, err := s.Scheduler.Submit(ctx, workflowID, func() error {
		if err := s.Store.Scheduling.Submit(ctx, workflowID, options, q.AutoSchedule, by.User); err != nil {
			return err
		}
		s.UseSite()
		return nil
	})
	if err != nil {
		return api.SchedulePlan{}, err
	}
	plan := withFitness(fromReport(report), fitness)
	if plan.LaterActions, err = laterActions(ctx, s.Store, workflowID); err != nil {
		return plan, err
	}
	plan.NoAllocation = noAllocation(&plan)
	return plan, nil
}

// ProposeSubmission returns what Submit would request, and changes nothing. Jobs that can
// never run are named.
func (s *Service) ProposeSubmission(ctx context.Context, workflowID int64, q *api.SubmitRequest) (api.SchedulePlan, error) {
	if s.Scheduler == nil {
		return api.SchedulePlan{}, ErrNoSlurm
	}
	s.UseSite()
	options, err := s.submitOptions(ctx, workflowID, q)
	if err == nil {
		err = workflow.ValidatePreference(q.Prefer)
	}
	if err != nil {
		return api.SchedulePlan{}, err
	}
	report, err := s.Scheduler.Plan(ctx, workflowID, options, q.AutoSchedule)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	fitness, err := s.fitness(ctx, workflowID, &options, q.AutoSchedule, true)
	if err != nil {
		return api.SchedulePlan{}, err
	}
	plan := withFitness(fromReport(report), fitness)
	plan.LaterActions, err = laterActions(ctx, s.Store, workflowID)
	return plan, err
}

func (s *Service) submitOptions(ctx context.Context, id int64, q *api.SubmitRequest) (o compute.SubmitOptions, err error) {
	o = compute.SubmitOptions{OutputDir: q.OutputDir, MaxParallelJobs: q.MaxParallelJobs, Account: q.Account, Partition: q.Partition, QOS: q.QOS, Prefer: q.Prefer}
	if q.NoAutoSchedule != nil {
		o.NoAutoSchedule = *q.NoAutoSchedule
		return o, nil
	}
	o.NoAutoSchedule, err = s.Store.Scheduling.IsOff(ctx, id)
	return o, err
}

// fitness checks whether jobs of a workflow can never run in what it can get. Unless
// that is to be skipped, that is CodeUnfit; a check that cannot be made is passed.
func (s *Service) fitness(ctx context.Context, workflowID int64, o *compute.SubmitOptions, limits *workflow.AutoSchedule, skip bool) (f scheduler.Fitness, err error) {
	if f, err = s.Scheduler.Fitness(ctx, workflowID, o, limits); err != nil || skip || len(f.Unfit) == 0 {
		return f, err
	}
	lines := []string{fmt.Sprintf("jobs of workflow %d can never run:", workflowID)}
	for _, u := range f.Unfit {
		lines = append(lines, u.String())
	}
	return f, workflow.Errorf(workflow.CodeUnfit, "%s", strings.Join(lines, "\n")).
		WithHint("change what these jobs need, or the Slurm schedulers, and submit again; --skip-checks (skip_checks) submits anyway")
}

func withFitness(p api.SchedulePlan, f scheduler.Fitness) api.SchedulePlan {
	p.Unchecked = f.Unchecked
	p.Unfit = each(f.Unfit, func(u scheduler.Unfit) api.UnfitJobs {
		return api.UnfitJobs{First: u.First, Jobs: u.Jobs, Reason: u.Reason, Text: u.String()}
	})
	return p
}

func fromReport(r *scheduler.Report) api.SchedulePlan {
	plan := api.SchedulePlan{
		WorkflowID: r.WorkflowID, AutoSchedule: r.AutoSchedule, RequestsMore: r.RequestsMore, Planned: each(r.Planned, fromPlanned), Requested: each(r.Asked, api.FromAllocation),
		Rejected: each(r.Refused, func(no scheduler.Refusal) string { return no.Text }), ReadyJobs: each(r.Covered, fromCovered), Text: r.Lines(), NextMS: r.Next.UnixMilli(),
		Refusals: each(r.Refused, func(no scheduler.Refusal) api.ScheduleRefusal {
			return api.ScheduleRefusal{Class: string(no.Class), Text: no.Text}
		}),
		Canceled: each(r.Canceled, func(a scheduler.Action) api.CanceledAllocation {
			return api.CanceledAllocation{AllocationID: a.Allocation, Reason: a.Reason}
		}),
		Choices: each(r.Choices, fromChoice), NoForecast: r.NoForecast,
		Waits: each(r.Waits, func(a scheduler.Action) api.ScheduleWait {
			return api.ScheduleWait{Kind: a.Kind.String(), Pool: a.Pool, UntilMS: unixMilli(a.Until), Reason: a.Reason}
		}),
	}
	for i := range plan.Planned {
		plan.NodeSeconds += plan.Planned[i].NodeSeconds()
	}
	return plan
}

func fromChoice(c scheduler.Choice) api.AllocationChoice {
	return api.AllocationChoice{
		Text: c.Text, Allocations: int64(c.Count), StartSeconds: int64(c.Start / time.Second), CompletionSeconds: int64(c.Completion / time.Second),
		RemainingJobs: c.Remaining, CPUHours: float64(c.CPUSeconds) / 3600, IdleShare: c.IdleShare, Chosen: c.Chosen, Reason: c.Reason,
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
		Ready: c.Ready, Live: c.Live, Pending: c.Pending, Requested: c.Asked, Uncovered: c.Uncovered, Reason: c.Reason,
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
