package server

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// expire applies timeouts, deadlines and holds that have expired.
func (w *watchdog) expire(ctx context.Context) {
	overdue, err := w.store.Timeouts.Overdue(ctx)
	if err != nil {
		w.logError(ctx, "cannot list timeouts", err)
	}
	for _, o := range overdue {
		explanation := ""
		if o.Timeout == workflow.TimeoutQueue && w.explain != nil {
			if explanation, err = w.explain(ctx, o.Example); err != nil {
				w.logError(ctx, "cannot explain why a job waits", err)
			}
		}
		n, err := w.store.Timeouts.Expire(ctx, o, explanation)
		if err != nil {
			w.logError(ctx, "cannot apply a timeout", err)
		} else if n > 0 {
			w.log.Warn("a timeout has expired", "timeout", o.Timeout, "workflow_id", o.WorkflowID, "jobs", n, "policy", o.Limit.Policy)
		}
	}
	w.passDeadlines(ctx)
}

// passDeadlines applies the deadlines of runs and of holds that have passed.
func (w *watchdog) passDeadlines(ctx context.Context) {
	if n, err := w.store.Timeouts.ApplyDeadlines(ctx); err != nil {
		w.logError(ctx, "cannot apply deadlines", err)
	} else if n > 0 {
		w.log.Warn("deadlines of workflows have passed", "workflows", n)
	}
	if n, err := w.store.Holds.Expire(ctx); err != nil {
		w.logError(ctx, "cannot end holds", err)
	} else if n > 0 {
		w.log.Warn("jobs that were held were classified by their deadline", "jobs", n)
	}
}

// logError logs an error unless the daemon is stopping.
func (w *watchdog) logError(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		w.log.Error(what, "error", err)
	}
}

// expireHeartbeats applies the heartbeat timeouts of a silent runner's jobs. It returns
// for how long the runner may be silent before it is lost.
func (w *watchdog) expireHeartbeats(ctx context.Context, runnerID int64, silence time.Duration) (patience time.Duration) {
	patience = heartbeatTimeout
	if silence < workflow.LeastHeartbeat {
		return patience
	}
	limits, err := w.store.Timeouts.Heartbeats(ctx, runnerID)
	if err != nil {
		w.logError(ctx, "cannot list heartbeat timeouts", err)
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
	n, err := w.store.Timeouts.ExpireHeartbeats(ctx, runnerID, silence)
	if err != nil {
		w.logError(ctx, "cannot apply heartbeat timeouts", err)
	} else if n > 0 {
		w.log.Warn("a runner has been silent for longer than jobs allow", "compute_node_id", runnerID, "silence", silence, "jobs", n)
	}
	return patience
}
