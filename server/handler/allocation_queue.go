package handler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// allocationQueue handles requests about allocations as Slurm's queue shows them.
type allocationQueue struct{ *Deps }

func (h allocationQueue) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/allocations", "List allocations as Slurm's queue shows them, with what runs in them", h.allocationQueue),
	}
}

// pollTimeout limits how long a request waits for a poll.
const pollTimeout = 30 * time.Second

type allocationQueueParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow only"`
	Ended      *bool  `query:"ended" doc:"also those that have ended"`
	MaxAge     *int64 `query:"max_age_seconds" doc:"poll Slurm if the latest poll is older than this; without it Slurm is not polled"`
}

func (h allocationQueue) allocationQueue(r *rest.Request[allocationQueueParams, rest.None]) (api.AllocationQueue, error) {
	ctx, p := r.Context(), r.Params
	var answer api.AllocationQueue
	read := func() ([]store.QueuedAllocation, error) {
		return h.Store.Allocations.Queue(ctx, Or(p.WorkflowID, 0), Or(p.Ended, false))
	}
	queue, err := read()
	if err != nil {
		return answer, err
	}
	var asked time.Time // when the newest live one existed; zero if there is none
	for i := range queue {
		if a := &queue[i]; a.IsLive() {
			asked = time.UnixMilli(max(asked.UnixMilli(), a.AskedMS, a.SubmitMS))
		}
	}
	if p.MaxAge != nil && !asked.IsZero() {
		if answer.Stale = h.pollAgain(ctx, time.Duration(*p.MaxAge)*time.Second, asked); answer.Stale == "" {
			if queue, err = read(); err != nil {
				return answer, err
			}
		}
	}
	var seen allocation.QueueSnapshot
	if h.Poller != nil {
		seen = h.Poller.Seen()
	}
	if !seen.At.IsZero() {
		answer.PolledMS = seen.At.UnixMilli()
	}
	answer.Items = make([]api.QueuedAllocation, len(queue))
	for i := range queue {
		answer.Items[i] = fromQueued(&queue[i], seen, h.Now().UnixMilli())
	}
	return answer, nil
}

// pollAgain polls Slurm if the last poll is older than maxAge or than since. It returns
// why that failed; empty if the answer is fresh.
func (h allocationQueue) pollAgain(ctx context.Context, maxAge time.Duration, since time.Time) (stale string) {
	if h.Poller == nil {
		return service.ErrNoSlurm.Message
	}
	began := h.Now()
	if at := h.Poller.Seen().At; began.Sub(at) <= maxAge && !at.Before(since) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if err := h.Poller.Poll(ctx); err != nil {
		h.Log.Warn("cannot poll Slurm", "error", err)
		return fmt.Sprintf("Slurm could not be polled: %v", err)
	}
	if h.Poller.Seen().At.Before(began) {
		return "squeue gives no information"
	}
	return ""
}

func fromQueued(a *store.QueuedAllocation, seen allocation.QueueSnapshot, nowMS int64) api.QueuedAllocation {
	q := api.QueuedAllocation{
		Allocation: api.FromAllocation(a.Allocation), WorkflowName: a.WorkflowName, ClaimsHeld: a.ClaimsHeld,
		Runners: a.Runners, JobsRunning: a.Running, AttemptsDone: a.Completed, AttemptsFailed: a.Failed,
	}
	switch {
	case a.State == compute.AllocationIntent:
		q.ReasonText = "sbatch runs, or its answer was lost and the daemon searches for the job"
		if a.SlurmReason != "" {
			q.ReasonText = "the answer of sbatch was unclear, and the daemon searches for the job: " + a.SlurmReason
		}
	case a.State == compute.AllocationPending:
		q.ReasonText = slurm.ReasonText(a.SlurmReason)
		if job, ok := seen.Jobs[a.SlurmJobID]; ok && job.State.Pending() && !job.Start.IsZero() {
			q.EstimatedStartMS = job.Start.UnixMilli()
		}
		q.ExpectedStartMS = cmp.Or(q.EstimatedStartMS, a.ExpectedStartMS(nowMS))
	}
	return q
}
