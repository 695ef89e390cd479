package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// When turns are made. What is said with a report travels with it; while CPUs
// have work, reports wait a little, so that many share a request.
const (
	reportDelay    = 20 * time.Millisecond  // reports, while there is work at hand
	startDelay     = 50 * time.Millisecond  // word that jobs have started
	wantsWorkDelay = 8 * time.Millisecond   // between an answer and asking for more work
	contentDelay   = 100 * time.Millisecond // the same when all slots are taken
	maxPollDelay   = time.Second            // when the daemon does not let us wait
	longPoll       = 10 * time.Second       // the longest that the daemon may hold an answer
	reportFirst    = 200 * time.Millisecond // asking for more work waits for the report of what has ended
	maxReports     = 1000                   // in one turn
)

// turns is the conversation with the daemon. At most one turn that says
// something is under way; beside it an older one may hang that only waits for
// news, which the newer one makes the daemon answer.
type turns struct {
	runner *Runner

	no        int64 // of the last turn
	reporting *flight
	polling   *flight

	started   []lease.Held   // by earlier runners, which have not reported them
	outbox    []lease.Report // in the order of their ends; saying carries the first of them
	answered  int64          // reports that have left the outbox
	recovered []lease.Recovered
	giveBack  []lease.LeaseRef
	// notStarted are leases that were told to be started, and are not.
	notStarted      []lease.Held
	unreportedSince time.Time // of the oldest start or report that was not said; zero for none
	reportDue       time.Time // zero while there is no report to say

	// A late answer may still grant leases that are closed; in the order of
	// closing, and to look up.
	closed     []closedLease
	isClosed   map[lease.LeaseRef]bool
	leaseUntil time.Time
	pollAt     time.Time
	pollDelay  time.Duration
	outage     outage

	newestAnswer    int64     // the newest turn that was answered
	lastWorkRequest time.Time // when the newest answered turn that asked for work was sent
	answers         int64
	latest          lease.TurnResponse // that answer's words on the workflow
}

// flight is a turn under way.
type flight struct {
	req  *lease.TurnRequest
	sent time.Time
}

type closedLease struct {
	ref lease.LeaseRef
	no  int64 // turns up to this one did not know that it is closed
}

type answerMsg struct {
	flight *flight
	resp   *lease.TurnResponse
	err    error
}

// report queues a report.
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

// dropClosed forgets closed leases that no turn under way can grant any more.
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

// nothingToReport reports whether there is nothing to say.
func (t *turns) nothingToReport() bool {
	return len(t.outbox) == 0 && len(t.recovered) == 0 && len(t.giveBack) == 0 && len(t.started) == 0 && len(t.notStarted) == 0
}

// reportAt returns when the next turn that says something is due, the zero time
// if there is nothing to say.
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

// sendDue makes the turns that are due.
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

// earliestPoll is when the next turn may be made that only asks. What has just ended is
// told first, as the daemon may decide by it that nothing is granted any more.
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

// reportTurn makes a turn that says everything there is to say.
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

// pollTurn makes a turn that waits for news.
func (t *turns) pollTurn(free lease.Free) *lease.TurnRequest {
	t.no++
	wait := longPoll.Seconds()
	if t.answers == 0 {
		wait = 0 // to learn how things are
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

// held lists the leases that the runner has and that req does not end, by job.
func (t *turns) held(req *lease.TurnRequest) []lease.Held {
	said := make(map[lease.LeaseRef]bool, len(req.Reports)+len(req.GiveBack)+len(req.Recovered))
	for i := range req.Reports {
		said[req.Reports[i].LeaseRef] = true
	}
	for _, ref := range req.GiveBack {
		said[ref] = true
	}
	for i := range req.Recovered {
		said[req.Recovered[i].LeaseRef] = true
	}
	held := make([]lease.Held, 0, len(t.runner.work.attempts))
	for ref, a := range t.runner.work.attempts {
		if a.void || said[ref] {
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

// dying counts the processes that are being ended, and are of voided leases.
func (t *turns) dying() (n int64) {
	for _, a := range t.runner.work.attempts {
		if a.void {
			n++
		}
	}
	return n
}

// send makes a turn in the background.
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
