package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// When turns are sent. While CPUs have work, reports wait a little, so that many share a
// request.
const (
	reportDelay    = 20 * time.Millisecond  // reports, while there is work at hand
	startDelay     = 50 * time.Millisecond  // starts of jobs
	wantsWorkDelay = 8 * time.Millisecond   // between an answer and the next poll for work
	contentDelay   = 100 * time.Millisecond // the same when all slots are taken
	maxPollDelay   = time.Second            // while the daemon does not hold long polls
	longPoll       = 10 * time.Second       // the longest that the daemon may hold an answer
	reportFirst    = 200 * time.Millisecond // a poll for work waits so long for the report of an ended job
	maxReports     = 1000                   // in one turn
)

// turns exchanges requests with the daemon. At most one turn that reports something is
// under way. Beside it there may be an older long poll, which the daemon answers when
// the newer turn arrives.
type turns struct {
	runner *Runner

	no        int64 // of the last turn
	reporting *flight
	polling   *flight

	started   []lease.Held   // by earlier runners, which have not reported them
	outbox    []lease.Report // in the order of their ends; reporting carries the first of them
	answered  int64          // reports that have left the outbox
	recovered []lease.Recovered
	giveBack  []lease.LeaseRef
	// notStarted are leases that were reported as started, but Slurm did not start.
	notStarted      []lease.Held
	unreportedSince time.Time // the oldest start or report that was not sent; zero for none
	reportDue       time.Time // zero while there is no report

	// A late answer may still grant closed leases: closed has them in the order of
	// closing, isClosed as a set.
	closed     []closedLease
	isClosed   map[lease.LeaseRef]bool
	leaseUntil time.Time
	pollAt     time.Time
	pollDelay  time.Duration
	outage     outage

	newestAnswer    int64     // number of the newest answered turn
	lastWorkRequest time.Time // when the newest answered turn with free slots was sent
	answers         int64
	latest          lease.TurnResponse // the workflow's state in the newest answer
}

// flight is a turn under way.
type flight struct {
	req  *lease.TurnRequest
	sent time.Time
}

type closedLease struct {
	ref lease.LeaseRef
	no  int64 // turns up to this one were sent before it was closed
}

type answerMsg struct {
	flight *flight
	resp   *lease.TurnResponse
	err    error
}

// report adds a report to the outbox.
func (t *turns) report(r lease.Report) {
	t.outbox = append(t.outbox, r)
	t.noteChange(time.Now())
	if t.reportDue.IsZero() {
		t.reportDue = time.Now().Add(reportDelay)
	}
}

func (t *turns) noteChange(at time.Time) {
	if t.unreportedSince.IsZero() {
		t.unreportedSince = at
	}
}

func (t *turns) close(ref lease.LeaseRef) {
	if t.isClosed == nil {
		t.isClosed = make(map[lease.LeaseRef]bool)
	}
	t.closed = append(t.closed, closedLease{ref, t.no})
	t.isClosed[ref] = true
}

// dropClosed forgets closed leases that no turn under way can grant.
func (t *turns) dropClosed() {
	oldest := t.no + 1
	for _, f := range []*flight{t.reporting, t.polling} {
		if f != nil {
			oldest = min(oldest, f.req.Turn)
		}
	}
	n := 0
	for n < len(t.closed) && t.closed[n].no < oldest {
		delete(t.isClosed, t.closed[n].ref)
		n++
	}
	t.closed = t.closed[n:]
}

// nothingToReport reports whether the daemon knows everything.
func (t *turns) nothingToReport() bool {
	return len(t.outbox) == 0 && len(t.recovered) == 0 && len(t.giveBack) == 0 && len(t.started) == 0 && len(t.notStarted) == 0
}

// reportAt returns when the next turn with a report is due, the zero time if there is
// nothing to report.
func (t *turns) reportAt(now time.Time) time.Time {
	switch {
	case t.reporting != nil:
		return time.Time{}
	case !t.outage.retryAt.IsZero():
		return t.outage.retryAt
	case len(t.recovered) > 0 || len(t.giveBack) > 0 || len(t.started) > 0 || len(t.notStarted) > 0:
		return now
	case len(t.outbox) > 0 && (t.runner.leaving.active() || t.runner.queue.wantsWork() || len(t.outbox) >= maxReports):
		return now
	case len(t.outbox) > 0:
		return t.reportDue
	case !t.unreportedSince.IsZero():
		return t.unreportedSince.Add(startDelay)
	}
	return time.Time{}
}

// sendDue sends the turns that are due.
func (t *turns) sendDue(ctx context.Context, now time.Time) {
	if at := t.reportAt(now); !at.IsZero() && !now.Before(at) {
		if o := &t.outage; o.rejections > 0 && !o.registered {
			t.reporting = t.registerAgain(ctx)
		} else {
			t.reporting = t.send(ctx, t.reportTurn(now))
		}
		return
	}
	if t.reporting != nil || !t.outage.since.IsZero() || now.Before(t.earliestPoll()) {
		return
	}
	free := t.runner.room.offer(now)
	if t.polling == nil || free.Slots > t.polling.req.Free.Slots {
		t.polling = t.send(ctx, t.pollTurn(free))
	}
}

// earliestPoll returns when the next long poll may be sent. Jobs that have just ended
// are reported first, since the daemon may then hold further claims.
func (t *turns) earliestPoll() time.Time {
	at := t.pollAt
	for _, a := range t.runner.work.byJob {
		switch a.phase {
		case ending, finishing:
			ended := a.started
			if a.exit != nil {
				ended = a.exit.At
			}
			at = maxTime(at, ended.Add(reportFirst))
		}
	}
	return at
}

// reportTurn returns a turn with everything that is to be reported.
func (t *turns) reportTurn(now time.Time) *lease.TurnRequest {
	t.no++
	reports := t.outbox[:min(len(t.outbox), maxReports)]
	req := &lease.TurnRequest{
		Turn: t.no, RunID: t.runner.about.RunID, PatternsHash: t.runner.detector.Hash(),
		Reports:  append([]lease.Report(nil), reports...),
		Started:  t.started,
		GiveBack: append([]lease.LeaseRef(nil), t.giveBack...), Recovered: append([]lease.Recovered(nil), t.recovered...),
		NotStarted: slices.Clone(t.notStarted), Free: t.runner.room.offer(now), Paused: t.runner.pause.status(),
	}
	req.Held, req.Dying = t.held(req), t.dying()
	t.unreportedSince, t.reportDue = time.Time{}, time.Time{}
	return req
}

// pollTurn returns a long poll.
func (t *turns) pollTurn(free lease.Free) *lease.TurnRequest {
	t.no++
	wait := longPoll.Seconds()
	if t.answers == 0 {
		wait = 0 // the state is not known yet
	}
	if beat := t.runner.about.HeartbeatSeconds; beat > 0 {
		wait = min(wait, beat*2/3)
	}
	req := &lease.TurnRequest{
		Turn: t.no, RunID: t.runner.about.RunID, PatternsHash: t.runner.detector.Hash(), Free: free,
		WaitSeconds: wait * (0.8 + 0.2*t.runner.opts.Random()), Paused: t.runner.pause.status(),
	}
	req.Held, req.Dying = t.held(req), t.dying()
	return req
}

// held returns the leases that the runner has and that req does not end, by job.
func (t *turns) held(req *lease.TurnRequest) []lease.Held {
	ended := make(map[lease.LeaseRef]bool, len(req.Reports)+len(req.GiveBack)+len(req.Recovered))
	for i := range req.Reports {
		ended[req.Reports[i].LeaseRef] = true
	}
	for _, ref := range req.GiveBack {
		ended[ref] = true
	}
	for i := range req.Recovered {
		ended[req.Recovered[i].LeaseRef] = true
	}
	held := make([]lease.Held, 0, len(t.runner.work.attempts))
	for ref, a := range t.runner.work.attempts {
		if a.void || ended[ref] {
			continue
		}
		h := lease.Held{LeaseRef: ref, PID: a.pid, Ending: a.killed != ""}
		if !a.started.IsZero() {
			h.StartedMS = a.started.UnixMilli()
		}
		held = append(held, h)
	}
	slices.SortFunc(held, func(a, b lease.Held) int { return cmp.Compare(a.JobID, b.JobID) })
	return held
}

// dying counts the attempts of lost leases whose processes are being ended.
func (t *turns) dying() (n int64) {
	for _, a := range t.runner.work.attempts {
		if a.void {
			n++
		}
	}
	return n
}

// send sends a turn in the background.
func (t *turns) send(ctx context.Context, req *lease.TurnRequest) *flight {
	f := &flight{req: req, sent: time.Now()}
	absent := !t.outage.since.IsZero()
	first, id := t.answered, t.runner.id
	t.runner.requests.Go(func() {
		t.runner.spool.persist(first, req.Reports, absent)
		resp, err := t.runner.opts.Client.Turn(ctx, id, req)
		if err == nil {
			t.runner.spool.markAnswered(len(req.Reports), len(req.Started))
		}
		t.runner.box.put(answerMsg{f, resp, err})
	})
	return f
}

// untilNext returns how long the loop may sleep.
func (r *Runner) untilNext(now time.Time) time.Duration {
	t := &r.turns
	next := now.Add(time.Second) // idle and outage limits are whole seconds
	if at := r.turns.reportAt(now); !at.IsZero() {
		next = minTime(next, at)
	}
	if at := r.turns.earliestPoll(); t.reporting == nil && t.outage.since.IsZero() && at.After(now) {
		next = minTime(next, at)
	}
	if at := r.slurmReasons.nextPoll(now); !at.IsZero() {
		next = minTime(next, at)
	}
	if r.pause.active() && !r.pause.probing {
		next = minTime(next, r.pause.probeAt)
	}
	if !r.schedule.end.IsZero() && !r.leaving.active() {
		next = minTime(next, r.schedule.drainAt)
	}
	return max(0, next.Sub(now))
}

func secondsOf(s float64) time.Duration {
	return time.Duration(s * float64(time.Second))
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
