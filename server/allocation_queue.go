package server

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) allocationQueueRoutes() []route {
	return []route{
		handle("GET", "/allocations", "List allocations as Slurm's queue shows them, with what runs in them", s.allocationQueue),
	}
}

// Lookout looks at Slurm's queue.
type Lookout interface {
	// Look returns when the allocations are as Slurm sees them now.
	Look(ctx context.Context) error
	// Seen is what the queue said last.
	Seen() allocation.Sight
}

// lookFor bounds the wait for Slurm's queue in one request.
const lookFor = 30 * time.Second

type allocationQueueParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow only"`
	Ended      *bool  `query:"ended" doc:"also those that have ended"`
	MaxAge     *int64 `query:"max_age_seconds" doc:"ask Slurm if the last look is older than this; without it Slurm is not asked"`
}

func (s *Server) allocationQueue(r *request[allocationQueueParams, none]) (api.AllocationQueue, error) {
	ctx, p := r.Context(), r.Params
	var answer api.AllocationQueue
	read := func() ([]store.QueuedAllocation, error) {
		return s.Store.AllocationQueue(ctx, or(p.WorkflowID, 0), or(p.Ended, false))
	}
	queue, err := read()
	if err != nil {
		return answer, err
	}
	var asked time.Time // when the newest live one was there; zero if none is
	for i := range queue {
		if a := &queue[i]; a.IsLive() {
			asked = time.UnixMilli(max(asked.UnixMilli(), a.AskedMS, a.SubmitMS))
		}
	}
	if p.MaxAge != nil && !asked.IsZero() {
		if answer.Stale = s.lookAgain(ctx, time.Duration(*p.MaxAge)*time.Second, asked); answer.Stale == "" {
			if queue, err = read(); err != nil {
				return answer, err
			}
		}
	}
	var seen allocation.Sight
	if s.Lookout != nil {
		seen = s.Lookout.Seen()
	}
	if !seen.At.IsZero() {
		answer.LookedMS = seen.At.UnixMilli()
	}
	answer.Items = make([]api.QueuedAllocation, len(queue))
	for i := range queue {
		answer.Items[i] = fromQueued(&queue[i], seen)
	}
	return answer, nil
}

// lookAgain asks Slurm if the last look is too old, or older than what is to be
// seen, and says why it is so still.
func (s *Server) lookAgain(ctx context.Context, maxAge time.Duration, since time.Time) (stale string) {
	if s.Lookout == nil {
		return errNoSlurm.Message
	}
	began := s.Now()
	if at := s.Lookout.Seen().At; began.Sub(at) <= maxAge && !at.Before(since) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	if err := s.Lookout.Look(ctx); err != nil {
		s.Log.Warn("could not look at Slurm's queue", "error", err)
		return fmt.Sprintf("Slurm's queue could not be looked at: %v", err)
	}
	if s.Lookout.Seen().At.Before(began) {
		return "squeue gives no information"
	}
	return ""
}

func fromQueued(a *store.QueuedAllocation, seen allocation.Sight) api.QueuedAllocation {
	q := api.QueuedAllocation{
		Allocation: fromAllocation(a.Allocation), WorkflowName: a.WorkflowName,
		Runners: a.Runners, JobsRunning: a.Running, AttemptsDone: a.Completed, AttemptsFailed: a.Failed,
	}
	switch {
	case a.State == workflow.AllocationIntent:
		q.ReasonText = "sbatch runs, or its answer was lost and the job is looked for"
		if a.SlurmReason != "" {
			q.ReasonText = "the job is looked for, as the answer was not clear: " + a.SlurmReason
		}
	case a.State == workflow.AllocationPending:
		q.ReasonText = slurm.ReasonText(a.SlurmReason)
		if job, ok := seen.Jobs[a.SlurmJobID]; ok && job.State.Pending() && !job.Start.IsZero() {
			q.EstimatedStartMS = job.Start.UnixMilli()
		}
	}
	return q
}

// Look has the loop look, if there is anything to look at.
func (c *cluster) Look(ctx context.Context) error {
	live, err := c.daemon.store.LiveAllocations(ctx)
	if err != nil || len(live) == 0 {
		return err
	}
	loop, err := c.allocations(ctx)
	if err != nil {
		return err
	}
	return loop.Look(ctx)
}

// Seen is what the loop saw last.
func (c *cluster) Seen() allocation.Sight {
	select {
	case <-c.opened:
		return c.loop.Seen()
	default:
		return allocation.Sight{}
	}
}
