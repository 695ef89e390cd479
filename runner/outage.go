package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// How often a call of a daemon that does not answer is retried.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// retryAfter spreads the retries of many runners: it returns 60 to 100 % of delay.
func retryAfter(delay time.Duration, random float64) time.Duration {
	return time.Duration((0.6 + 0.4*random) * float64(delay))
}

// How long a runner that is leaving tries to deliver its reports.
const (
	deliverPatience     = 20 * time.Second
	deliverPatienceKill = 2 * time.Second
)

// outage is the time in which the daemon does not answer.
type outage struct {
	since      time.Time // zero while it answers
	retryAt    time.Time
	delay      time.Duration
	cause      error
	rejections int  // in a row
	registered bool // again, since the last rejection
}

// registeredMsg is the daemon's answer to a runner that registers again.
type registeredMsg struct {
	resp *lease.RegisterResponse
	err  error
}

// onTurnError handles a failed turn: the daemon does not answer, or it rejects the
// runner.
func (t *turns) onTurnError(err error, now time.Time) {
	o := &t.outage
	if refusal := t.rejection(err); refusal != nil {
		o.rejections, o.registered = o.rejections+1, false
		t.runner.log.Error("the daemon rejects the runner", "status", refusal.Status, "error", refusal.Message)
		if o.rejections == maxRejections {
			t.runner.leaving.leave(StopCancel, "the daemon rejects the runner: "+refusal.Message, workflow.KilledByFence, t.runner.policy.lead)
		}
	}
	if o.since.IsZero() {
		o.since = now
		t.runner.log.Warn("the daemon does not answer; continuing with the jobs at hand", "error", err)
		t.runner.emit(Event{Kind: EventOutage, Message: err.Error()})
	}
	o.cause = err
	o.delay = min(max(2*o.delay, firstRetry), lastRetry)
	o.retryAt = now.Add(retryAfter(o.delay, t.runner.opts.Random()))
}

func (t *turns) outageOver(now time.Time) {
	o := &t.outage
	if !o.since.IsZero() {
		t.runner.log.Info("the daemon answers again", "after_s", now.Sub(o.since).Seconds())
		t.runner.emit(Event{Kind: EventResumed})
		t.runner.active = now // jobs may have become ready meanwhile
	}
	*o = outage{}
}

// maxRejections is how many rejections in a row end a runner. After each of them it
// registers again: it may have been silent for so long that it was considered dead.
const maxRejections = 3

// registerAgain registers in the background.
func (t *turns) registerAgain(ctx context.Context) *flight {
	f := &flight{req: &lease.TurnRequest{Turn: t.no}, sent: time.Now()}
	t.runner.requests.Go(func() {
		resp, err := t.runner.opts.Client.Register(ctx, t.runner.opts.WorkflowID, t.runner.registration)
		t.runner.box.put(registeredMsg{resp, err})
	})
	return f
}

// onRegisteredAgain continues under the new id. If the workflow has been reset
// meanwhile, the runner leaves.
func (t *turns) onRegisteredAgain(m registeredMsg) {
	now := time.Now()
	t.reporting = nil
	if m.err != nil {
		t.onTurnError(m.err, now)
		return
	}
	t.runner.id = m.resp.RunnerID
	t.outage.registered = true
	t.outage.retryAt = now
	t.runner.log.Info("registered again", "new_compute_node_id", t.runner.id)
	if m.resp.RunID != t.runner.about.RunID {
		t.runner.leaving.leave(StopCancel, "the workflow was reset", workflow.KilledByFence, t.runner.policy.lead)
	}
}

// checkOutage returns an error when the runner stops waiting for the daemon. It always
// waits for running jobs: their reports go to the spool.
func (t *turns) checkOutage(now time.Time) error {
	o := &t.outage
	if o.since.IsZero() || t.runner.work.live() > 0 {
		return nil
	}
	patience := time.Duration(t.runner.about.WaitForHealthyMins) * time.Minute
	from := o.since
	if t.runner.leaving.active() {
		from = maxTime(from, t.runner.leaving.since)
		patience = min(patience, deliverPatience)
		if t.runner.leaving.kind >= StopKill {
			patience = deliverPatienceKill
		}
	}
	if o.rejections < maxRejections && now.Sub(from) < patience {
		return nil
	}
	code := workflow.CodeUnavailable
	if o.rejections >= maxRejections {
		code = workflow.CodeConflict
	}
	e := workflow.Errorf(code, "the daemon did not accept the last reports of the runner: %v", o.cause)
	e.Err = o.cause
	if n := len(t.outbox); n > 0 {
		e.Hint = fmt.Sprintf("%d reports are kept in %s; the next run delivers them", n, t.runner.spool.dir)
	}
	return e
}

// live counts the attempts whose processes may exist.
func (w *work) live() int {
	n := 0
	for _, a := range w.attempts {
		if a.live() {
			n++
		}
	}
	return n
}

// isUnanswered reports whether the error of a call means that the daemon did not
// answer, so that a retry may succeed.
func isUnanswered(err error) bool {
	var e *client.APIError
	if errors.As(err, &e) {
		return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
	}
	return client.IsUnreachable(err) || errors.Is(err, context.DeadlineExceeded)
}
