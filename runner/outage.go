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

// How often a daemon that does not answer is tried again.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// retryAfter spreads the tries of many runners, none of which is later than delay.
func retryAfter(delay time.Duration, random float64) time.Duration {
	return time.Duration((0.6 + 0.4*random) * float64(delay))
}

// How long a runner that wants to leave tries to deliver its reports.
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
	rejections int  // refusals in a row
	registered bool // registered again since the last refusal
}

// registeredMsg is the daemon's answer to a runner that registers again.
type registeredMsg struct {
	resp *lease.RegisterResponse
	err  error
}

// onTurnError takes in that a turn failed: the daemon is absent, or it does
// not know us (any more).
func (t *turns) onTurnError(err error, now time.Time) {
	o := &t.outage
	if refusal := t.rejection(err); refusal != nil {
		o.rejections, o.registered = o.rejections+1, false
		t.runner.log.Error("the daemon refuses the runner", "status", refusal.Status, "error", refusal.Message)
		if o.rejections == maxRejections {
			t.runner.leaving.leave(StopCancel, "the daemon refuses the runner: "+refusal.Message, workflow.KilledByFence, t.runner.policy.lead)
		}
	}
	if o.since.IsZero() {
		o.since = now
		t.runner.log.Warn("the daemon does not answer; going on with what there is", "error", err)
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
		t.runner.active = now // what there was to do meanwhile is not known
	}
	*o = outage{}
}

// maxRejections is how many refusals in a row end a runner. After each of them it
// registers again: it was silent for too long and taken for dead.
const maxRejections = 3

// registerAgain registers again.
func (t *turns) registerAgain(ctx context.Context) *flight {
	f := &flight{req: &lease.TurnRequest{Turn: t.no}, sent: time.Now()}
	t.runner.requests.Go(func() {
		resp, err := t.runner.opts.Client.Register(ctx, t.runner.opts.WorkflowID, t.runner.registration)
		t.runner.box.put(registeredMsg{resp, err})
	})
	return f
}

// onRegisteredAgain goes on under the new id. In another run of the workflow there is
// nothing to go on with.
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

// checkOutage returns an error when it is no use to wait for the daemon any
// longer. Running jobs are always waited for: their ends go to the spool.
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
	e := workflow.Errorf(code, "the daemon did not take the runner's last words: %v", o.cause)
	e.Err = o.cause
	if n := len(t.outbox); n > 0 {
		e.Hint = fmt.Sprintf("%d reports are kept in %s and delivered by the next run", n, t.runner.spool.dir)
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

// isUnanswered reports whether the error of a call means that the daemon was away:
// another one, or the same one later, can answer.
func isUnanswered(err error) bool {
	var e *client.APIError
	if errors.As(err, &e) {
		return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
	}
	return client.IsUnreachable(err) || errors.Is(err, context.DeadlineExceeded)
}
