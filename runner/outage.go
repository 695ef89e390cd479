package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
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
	deliverPatience      = 20 * time.Second
	deliverPatienceHurry = 2 * time.Second
)

// outage is the time in which the daemon does not answer.
type outage struct {
	since   time.Time // zero while it answers
	retryAt time.Time
	delay   time.Duration
	cause   error
	refused int  // refusals in a row
	greeted bool // registered again since the last refusal
}

// greetedMsg is the daemon's answer to a runner that registers again.
type greetedMsg struct {
	resp *api.RegisterResponse
	err  error
}

// onTurnError takes in that a turn failed: the daemon is absent, or it does
// not know us (any more).
func (r *Runner) onTurnError(err error, now time.Time) {
	o := &r.turns.outage
	if refusal := r.refused(err); refusal != nil {
		o.refused, o.greeted = o.refused+1, false
		r.log.Error("the daemon refuses the runner", "status", refusal.Status, "error", refusal.Message)
		if o.refused == refusals {
			r.leave(StopCancel, "the daemon refuses the runner: "+refusal.Message, workflow.KilledByFence, r.policy.lead)
		}
	}
	if o.since.IsZero() {
		o.since = now
		r.log.Warn("the daemon does not answer; going on with what there is", "error", err)
		r.emit(Event{Kind: EventOutage, Message: err.Error()})
	}
	o.cause = err
	o.delay = min(max(2*o.delay, firstRetry), lastRetry)
	o.retryAt = now.Add(retryAfter(o.delay, r.opts.Random()))
}

func (r *Runner) outageOver(now time.Time) {
	o := &r.turns.outage
	if !o.since.IsZero() {
		r.log.Info("the daemon answers again", "after_s", now.Sub(o.since).Seconds())
		r.emit(Event{Kind: EventResumed})
		r.active = now // what there was to do meanwhile is not known
	}
	*o = outage{}
}

// refusals is how many refusals in a row end a runner. After each of them it
// registers again: it was silent for too long and taken for dead.
const refusals = 3

// greet registers again.
func (r *Runner) greet(ctx context.Context) *flight {
	f := &flight{req: &api.TurnRequest{Turn: r.turns.no}, sent: time.Now()}
	r.requests.Go(func() {
		resp, err := r.opts.Client.Register(ctx, r.opts.WorkflowID, r.registration)
		r.box.put(greetedMsg{resp, err})
	})
	return f
}

// onGreeted goes on under the new id. In another run of the workflow there is
// nothing to go on with.
func (r *Runner) onGreeted(m greetedMsg) {
	now := time.Now()
	r.turns.saying = nil
	if m.err != nil {
		r.onTurnError(m.err, now)
		return
	}
	r.id = m.resp.RunnerID
	r.turns.outage.greeted = true
	r.turns.outage.retryAt = now
	r.log.Info("registered again", "new_compute_node_id", r.id)
	if m.resp.RunID != r.about.RunID {
		r.leave(StopCancel, "the workflow was reset", workflow.KilledByFence, r.policy.lead)
	}
}

// hopeless returns an error when it is no use to wait for the daemon any
// longer. Running jobs are always waited for: their ends go to the spool.
func (r *Runner) hopeless(now time.Time) error {
	o := &r.turns.outage
	if o.since.IsZero() || r.liveAttempts() > 0 {
		return nil
	}
	patience := time.Duration(r.about.WaitForHealthyMins) * time.Minute
	from := o.since
	if r.leaving.active() {
		from = maxTime(from, r.leaving.since)
		patience = min(patience, deliverPatience)
		if r.leaving.kind >= StopHurry {
			patience = deliverPatienceHurry
		}
	}
	if o.refused < refusals && now.Sub(from) < patience {
		return nil
	}
	code := workflow.CodeUnavailable
	if o.refused >= refusals {
		code = workflow.CodeConflict
	}
	e := workflow.Errorf(code, "the daemon did not take the runner's last words: %v", o.cause)
	e.Err = o.cause
	if n := len(r.turns.outbox); n > 0 {
		e.Hint = fmt.Sprintf("%d reports are kept in %s and delivered by the next run", n, r.spool.dir)
	}
	return e
}

// liveAttempts counts the attempts whose processes may exist.
func (r *Runner) liveAttempts() int {
	n := 0
	for _, a := range r.attempts {
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
