package handler

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/hub"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// maxWait is the longest time for which the answer to a turn is held.
const maxWait = 10 * time.Second

// turnsPerLease is how many turns a runner makes at least during a lease.
const turnsPerLease = 4

// runners handles requests about runners: they register, send turns and deregister.
type runners struct{ *Deps }

func (h runners) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/runners", "Register a runner; repeated with the same key, it returns the same runner", h.registerRunner, rest.RunnersOwnWorkflow),
		rest.Handle("POST", "/runners/{id}/turn", "Report a runner's results and get jobs and orders, in one call; may be repeated", h.turn, rest.Bulk, rest.Conflict409, rest.RunnersThemselves),
		rest.Handle("POST", "/runners/{id}/leave", "Deregister a runner", h.leaveRunner, rest.RunnersThemselves),
	}
}

func (h runners) registerRunner(r *rest.Request[IDParams, lease.RegisterRequest]) (lease.RegisterResponse, error) {
	b := &r.Body
	intent, err := intentOf(r.Context(), b.Allocation)
	if err != nil {
		return lease.RegisterResponse{}, err
	}
	login, err := h.LoginPart(b)
	if err != nil {
		return lease.RegisterResponse{}, err
	}
	known, err := h.Store.Runners.Register(r.Context(), store.Registration{RegisterRequest: *b, WorkflowID: r.Params.ID, IntentID: intent, Login: login})
	if err != nil {
		return lease.RegisterResponse{}, err
	}
	h.Leases.Renew(known.RunnerID, 0, h.Now())
	w := &known.Workflow
	answer := lease.RegisterResponse{
		RunnerID: known.RunnerID, RunID: w.RunID, WorkflowName: w.Name, Env: w.Env,
		ExecutionConfig: w.ExecutionConfig, ResourceMonitor: w.ResourceMonitor, EnforceRuntime: w.EnforceRuntime,
		LeaseSeconds: h.Leases.Period().Seconds(), HeartbeatSeconds: h.Leases.Period().Seconds() / turnsPerLease,
		WaitForNewJobs: w.ComputeNodeWaitForNewJobsSeconds, IgnoreCompletion: w.ComputeNodeIgnoreWorkflowCompletion,
		WaitForHealthyMins: w.ComputeNodeWaitForHealthyDatabaseMinutes, MinTimeForNewJobs: w.ComputeNodeMinTimeForNewJobsSeconds,
	}
	if w.SubmissionDirectory != nil {
		answer.SubmissionDirectory = *w.SubmissionDirectory
	}
	return answer, nil
}

// turn records what a runner reports. It answers when there is news for the runner,
// when a newer turn of the runner arrives, or when the time to wait is over.
func (h runners) turn(r *rest.Request[IDParams, lease.TurnRequest]) (lease.TurnResponse, error) {
	id, b := r.Params.ID, &r.Body
	defer func() {
		if r.Context().Err() != nil {
			h.ConnectionBroke(id)
		}
	}()
	workflowID, staysOn, err := h.Store.Runners.Workflow(r.Context(), id)
	if err != nil {
		return lease.TurnResponse{}, err
	}
	newer := h.Leases.Renew(id, b.Turn, h.Now())
	if h.Leases.Pause(id, b.Turn, b.Paused) {
		if err := h.Store.Runners.NoteLaunchPause(r.Context(), id, *b.Paused); err != nil {
			return lease.TurnResponse{}, err
		}
	}
	work := h.Hub.Subscribe(hub.WorkOf(workflowID), hub.RunnerOf(id))
	defer work.Close()
	answer, err := h.Store.Runners.Turn(r.Context(), id, *b)
	if err != nil {
		return lease.TurnResponse{}, err
	}
	wait := min(time.Duration(b.WaitSeconds*float64(time.Second)), maxWait)
	deadline := time.NewTimer(max(wait, 0))
	defer deadline.Stop()
	// What the runner reported is recorded now; later calls only wait for news.
	b.Reports, b.GiveBack, b.Recovered, b.NotStarted = nil, nil, nil, nil
	stopped := h.Leases.Ordered(id)
	for waiting := wait > 0 && !hasNews(&answer, staysOn) && !stopped; waiting; {
		select {
		case <-work.C:
			if answer, err = h.Store.Runners.Turn(r.Context(), id, *b); err != nil {
				return lease.TurnResponse{}, err
			}
			stopped = h.Leases.Ordered(id)
			waiting = !hasNews(&answer, staysOn) && !stopped
		case <-newer:
			waiting = false
		case <-deadline.C:
			waiting = false
		case <-h.Stopping:
			waiting = false
		case <-r.Context().Done():
			return lease.TurnResponse{}, context.Cause(r.Context())
		}
	}
	h.Metrics.Turn(&answer)
	if stopped && !answer.Has(lease.OrderStop) {
		answer.Orders = append(answer.Orders, lease.OrderStop)
	}
	return answer, nil
}

// hasNews reports whether the answer must be sent now. A runner that stays need not be
// told that the workflow is complete.
func hasNews(t *lease.TurnResponse, staysOn bool) bool {
	return len(t.Results)+len(t.Grants)+len(t.Voided)+len(t.Cancel) > 0 || t.Patterns != nil || t.Has(lease.OrderStop) || t.Complete && !staysOn || t.Canceled
}

func (h runners) leaveRunner(r *rest.Request[IDParams, lease.LeaveRequest]) (lease.LeaveResponse, error) {
	n, err := h.Store.Runners.Leave(r.Context(), r.Params.ID, r.Body)
	if err != nil {
		return lease.LeaveResponse{}, err
	}
	h.Leases.Forget(r.Params.ID)
	if err := h.pollAllocationOf(r.Context(), r.Params.ID); err != nil {
		return lease.LeaveResponse{}, err
	}
	return lease.LeaveResponse{GivenBack: n}, nil
}

// pollAllocationOf has the daemon poll Slurm soon if a runner was in an allocation: the
// allocation ends when its last runner has left.
func (h runners) pollAllocationOf(ctx context.Context, runner int64) error {
	intent, err := h.Store.Allocations.IntentOfRunner(ctx, runner)
	if err == nil && intent != "" && h.PollAllocations != nil {
		h.PollAllocations()
	}
	return err
}

// intentOf returns the intent of the allocation that a runner is in, by the secret that
// it presented; empty if it is in none. The error has CodeForbidden if it presents a
// secret without naming its Slurm job, or names one without a secret.
func intentOf(ctx context.Context, member *lease.AllocationMember) (string, error) {
	allocation := access.CallerOf(ctx).Allocation
	switch {
	case allocation == nil && member == nil:
		return "", nil
	case allocation == nil:
		return "", workflow.Errorf(workflow.CodeForbidden, "a runner in an allocation must present the allocation's secret")
	case member == nil:
		return "", workflow.Errorf(workflow.CodeForbidden, "a runner with an allocation's secret must name the Slurm job that it runs in")
	}
	return allocation.IntentID, nil
}
