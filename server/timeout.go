package server

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// expire does what is to be done about timeouts, deadlines and holds that are
// over.
func (w *watchdog) expire(ctx context.Context) {
	overdue, err := w.store.Overdue(ctx)
	if err != nil {
		w.complain(ctx, "cannot look for timeouts", err)
	}
	for _, o := range overdue {
		explanation := ""
		if o.Timeout == workflow.TimeoutQueue && w.explain != nil {
			if explanation, err = w.explain(ctx, o.Example); err != nil {
				w.complain(ctx, "cannot explain why a job waits", err)
			}
		}
		n, err := w.store.Expire(ctx, o, explanation)
		if err != nil {
			w.complain(ctx, "cannot do what follows from a timeout", err)
		} else if n > 0 {
			w.log.Warn("a timeout has expired", "timeout", o.Timeout, "workflow_id", o.WorkflowID, "jobs", n, "policy", o.Limit.Policy)
		}
	}
	w.passDeadlines(ctx)
}

// passDeadlines does what is to be done about the deadlines of runs and of holds
// that have passed.
func (w *watchdog) passDeadlines(ctx context.Context) {
	if n, err := w.store.PassDeadlines(ctx); err != nil {
		w.complain(ctx, "cannot do what follows from a deadline", err)
	} else if n > 0 {
		w.log.Warn("deadlines of workflows have passed", "workflows", n)
	}
	if n, err := w.store.ExpireHolds(ctx); err != nil {
		w.complain(ctx, "cannot end holds", err)
	} else if n > 0 {
		w.log.Warn("jobs that were held were classified by their deadline", "jobs", n)
	}
}

func (w *watchdog) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		w.log.Error(what, "error", err)
	}
}

// expireHeartbeats does what the jobs of a silent runner say for that case, and
// returns for how long the runner may be silent before it is given up.
func (w *watchdog) expireHeartbeats(ctx context.Context, runnerID int64, silence time.Duration) (patience time.Duration) {
	patience = heartbeatTimeout
	if silence < workflow.LeastHeartbeat {
		return patience
	}
	limits, err := w.store.Heartbeats(ctx, runnerID)
	if err != nil {
		w.complain(ctx, "cannot look for heartbeats", err)
		return patience
	}
	due := false
	for _, h := range limits {
		patience = max(patience, h.Limit.Duration())
		due = due || h.Due(silence)
	}
	if !due {
		return patience
	}
	n, err := w.store.ExpireHeartbeats(ctx, runnerID, silence)
	if err != nil {
		w.complain(ctx, "cannot do what follows from the silence of a runner", err)
	} else if n > 0 {
		w.log.Warn("a runner has been silent for longer than jobs allow", "compute_node_id", runnerID, "silence", silence, "jobs", n)
	}
	return patience
}

// whyQueued says why a ready job waits.
func (s *Server) whyQueued(ctx context.Context, job int64) (string, error) {
	facts, err := s.Store.JobFacts(ctx, job)
	if err != nil {
		return "", err
	}
	if facts.Places, err = s.places(ctx, facts.Job.WorkflowID, facts.Class.ID); err != nil {
		return "", err
	}
	return workflow.ExplainQueue(facts), nil
}
