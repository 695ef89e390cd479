package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// When turns are made. What is said with a report travels with it; while CPUs
// have work, reports wait a little, so that many share a request.
const (
	reportDelay  = 20 * time.Millisecond  // reports, while there is work at hand
	startDelay   = 50 * time.Millisecond  // word that jobs have started
	hungryDelay  = 8 * time.Millisecond   // between an answer and asking for more work
	contentDelay = 100 * time.Millisecond // the same when all slots are taken
	maxPollDelay = time.Second            // when the daemon does not let us wait
	longPoll     = 10 * time.Second       // the longest that the daemon may hold an answer
	maxReports   = 1000                   // in one turn
)

// turns is the conversation with the daemon. At most one turn that says
// something is under way; beside it an older one may hang that only waits for
// news, which the newer one makes the daemon answer.
type turns struct {
	no      int64 // of the last turn
	saying  *flight
	polling *flight

	outbox    []api.Report // in the order of their ends; saying carries the first of them
	answered  int64        // reports that have left the outbox
	recovered []api.Recovered
	giveBack  []api.LeaseRef
	newsSince time.Time // of the oldest start or report that was not said; zero for none
	reportDue time.Time // zero while there is no report to say

	// A late answer may still grant leases that are closed; in the order of
	// closing, and to look up.
	closed     []closedLease
	isClosed   map[api.LeaseRef]bool
	leaseUntil time.Time
	pollAt     time.Time
	pollDelay  time.Duration
	outage     outage

	heard   int64     // the newest turn that was answered
	asked   time.Time // when the newest answered turn that asked for work was sent
	answers int64
	latest  api.TurnResponse // that answer's words on the workflow
}

// flight is a turn under way.
type flight struct {
	req  *api.TurnRequest
	sent time.Time
}

type closedLease struct {
	ref api.LeaseRef
	no  int64 // turns up to this one did not know that it is closed
}

type answerMsg struct {
	flight *flight
	resp   *api.TurnResponse
	err    error
}

// report queues a report.
func (t *turns) report(r api.Report) {
	t.outbox = append(t.outbox, r)
	t.news(time.Now())
	if t.reportDue.IsZero() {
		t.reportDue = time.Now().Add(reportDelay)
	}
}

func (t *turns) started(at time.Time) { t.news(at) }

func (t *turns) news(at time.Time) {
	if t.newsSince.IsZero() {
		t.newsSince = at
	}
}

func (t *turns) close(ref api.LeaseRef) {
	if t.isClosed == nil {
		t.isClosed = make(map[api.LeaseRef]bool)
	}
	t.closed = append(t.closed, closedLease{ref, t.no})
	t.isClosed[ref] = true
}

// dropClosed forgets closed leases that no turn under way can grant any more.
func (t *turns) dropClosed() {
	oldest := t.no + 1
	for _, f := range []*flight{t.saying, t.polling} {
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

// silent reports whether there is nothing to say.
func (t *turns) silent() bool {
	return len(t.outbox) == 0 && len(t.recovered) == 0 && len(t.giveBack) == 0
}

// sayAt returns when the next turn that says something is due, the zero time
// if there is nothing to say.
func (r *Runner) sayAt(now time.Time) time.Time {
	t := &r.turns
	switch {
	case t.saying != nil:
		return time.Time{}
	case !t.outage.retryAt.IsZero():
		return t.outage.retryAt
	case len(t.recovered) > 0 || len(t.giveBack) > 0:
		return now
	case len(t.outbox) > 0 && (r.leaving.active() || r.hungry() || len(t.outbox) >= maxReports):
		return now
	case len(t.outbox) > 0:
		return t.reportDue
	case !t.newsSince.IsZero():
		return t.newsSince.Add(startDelay)
	}
	return time.Time{}
}

// hungry reports whether room is empty, or about to be, for want of work.
func (r *Runner) hungry() bool {
	return int64(len(r.queue)) < max(1, r.pace.ahead(r.slots())/4)
}

// slots is how many jobs may run at a time, at most.
func (r *Runner) slots() int64 {
	if r.opts.MaxParallelJobs > 0 {
		return r.opts.MaxParallelJobs
	}
	return r.total.cpus
}

// takeTurn makes the turns that are due.
func (r *Runner) takeTurn(ctx context.Context, now time.Time) {
	t := &r.turns
	if at := r.sayAt(now); !at.IsZero() && !now.Before(at) {
		t.saying = r.send(ctx, r.say(now))
		return
	}
	if t.saying != nil || !t.outage.since.IsZero() || now.Before(t.pollAt) {
		return
	}
	free := r.offer(now)
	if t.polling == nil || free.Slots > t.polling.req.Free.Slots {
		t.polling = r.send(ctx, r.poll(free))
	}
}

// say makes a turn that says everything there is to say.
func (r *Runner) say(now time.Time) *api.TurnRequest {
	t := &r.turns
	t.no++
	reports := t.outbox[:min(len(t.outbox), maxReports)]
	req := &api.TurnRequest{
		Turn: t.no, RunID: r.about.RunID,
		Reports:  append([]api.Report(nil), reports...),
		GiveBack: append([]api.LeaseRef(nil), t.giveBack...), Recovered: append([]api.Recovered(nil), t.recovered...),
		Free: r.offer(now),
	}
	req.Held = r.held(req)
	t.newsSince, t.reportDue = time.Time{}, time.Time{}
	return req
}

// poll makes a turn that waits for news.
func (r *Runner) poll(free api.Free) *api.TurnRequest {
	r.turns.no++
	wait := longPoll.Seconds()
	if r.turns.answers == 0 {
		wait = 0 // to learn how things are
	}
	if beat := r.about.HeartbeatSeconds; beat > 0 {
		wait = min(wait, beat*2/3)
	}
	req := &api.TurnRequest{
		Turn: r.turns.no, RunID: r.about.RunID, Free: free,
		WaitSeconds: wait * (0.8 + 0.2*rand.Float64()),
	}
	req.Held = r.held(req)
	return req
}

// held lists the leases that the runner has and that req does not end.
func (r *Runner) held(req *api.TurnRequest) []api.Held {
	said := make(map[api.LeaseRef]bool, len(req.Reports)+len(req.GiveBack))
	for i := range req.Reports {
		said[req.Reports[i].LeaseRef] = true
	}
	for _, ref := range req.GiveBack {
		said[ref] = true
	}
	held := make([]api.Held, 0, len(r.attempts))
	for ref, a := range r.attempts {
		if a.void || said[ref] {
			continue
		}
		h := api.Held{LeaseRef: ref, PID: a.pid}
		if !a.started.IsZero() {
			h.StartedMS = a.started.UnixMilli()
		}
		held = append(held, h)
	}
	return held
}

// offer says what the runner can take. Jobs that end soon are taken ahead of
// the room that they will find.
func (r *Runner) offer(now time.Time) api.Free {
	f := api.Free{TimeLeftSeconds: r.schedule.left(now)}
	if r.leaving.active() || !r.turns.outage.since.IsZero() || r.actionsFirst() {
		return f
	}
	waiting := int64(len(r.queue))
	ahead := max(0, r.pace.ahead(r.slots())-waiting)
	if r.opts.MaxParallelJobs > 0 {
		f.Slots = max(0, r.slots()-r.busy-waiting) + ahead
		return f
	}
	room := r.free
	for _, a := range r.queue {
		room = room.minus(needs(&a.grant))
	}
	room = room.atLeastZero()
	f.Slots = room.cpus + ahead
	if room.cpus > 0 {
		f.Nodes = append(f.Nodes, r.node(room, r.busy+waiting > 0))
	}
	// What is taken ahead finds the whole node, several times over, but never
	// more than a node at once: a job must not be larger than it.
	for taken := int64(0); taken < ahead; taken += max(1, r.total.cpus) {
		f.Nodes = append(f.Nodes, r.node(r.total, true))
	}
	return f
}

func (r *Runner) node(room capacity, busy bool) api.FreeNode {
	return api.FreeNode{
		Name: r.opts.Hostname, CPUs: room.cpus, MemoryBytes: room.memory, GPUs: room.gpus, Busy: busy,
	}
}

// send makes a turn in the background.
func (r *Runner) send(ctx context.Context, req *api.TurnRequest) *flight {
	f := &flight{req: req, sent: time.Now()}
	absent := !r.turns.outage.since.IsZero()
	first := r.turns.answered
	r.requests.Go(func() {
		r.spool.before(first, req.Reports, absent)
		resp, err := r.opts.Client.Turn(ctx, r.id, req)
		if err == nil {
			r.spool.after(len(req.Reports))
		}
		r.box.put(answerMsg{f, resp, err})
	})
	return f
}

// onAnswer takes in what the daemon says.
func (r *Runner) onAnswer(m answerMsg) {
	t := &r.turns
	now := time.Now()
	said := m.flight == t.saying
	if said {
		t.saying = nil
	}
	if m.flight == t.polling {
		t.polling = nil
	}
	if m.err != nil {
		r.onTurnError(m.err, now)
		return
	}
	r.outageOver(now)
	t.answers++
	if m.flight.req.Free.Slots > 0 {
		t.asked = maxTime(t.asked, m.flight.sent)
	}
	t.leaseUntil = maxTime(t.leaseUntil, m.flight.sent.Add(secondsOf(r.about.LeaseSeconds)))
	if said {
		r.settleSaid(m.flight.req, m.resp)
	}
	for i := range m.resp.Grants {
		r.accept(m.resp.Grants[i], now)
	}
	for _, ref := range m.resp.Voided {
		r.void(ref)
	}
	if m.flight.req.Turn > t.heard {
		t.heard = m.flight.req.Turn
		r.hearNews(m.resp)
	}
	r.paceTurns(m, now)
	t.dropClosed()
}

// hearNews takes in the newest word on the workflow and the allocation.
func (r *Runner) hearNews(resp *api.TurnResponse) {
	r.turns.latest = api.TurnResponse{
		Complete: resp.Complete, Canceled: resp.Canceled,
		OpenJobs: resp.OpenJobs, ClaimableLater: resp.ClaimableLater,
	}
	end, err := parseEnd(resp.EndTime)
	if err != nil {
		r.log.Warn("daemon sent a bad end time", "error", err)
	} else if !end.IsZero() {
		r.schedule = r.policy.schedule(r.began, end)
	}
	for _, order := range resp.Orders {
		r.obey(order)
	}
	if resp.Canceled {
		r.obey(api.OrderCancel)
	}
}

// paceTurns decides when to wait for news again. A daemon that answers at once
// though it has nothing to say is asked less and less often.
func (r *Runner) paceTurns(m answerMsg, now time.Time) {
	t := &r.turns
	delay := contentDelay
	if r.busy+int64(len(r.queue)) < r.slots() {
		delay = hungryDelay
	}
	wanted := secondsOf(m.flight.req.WaitSeconds)
	superseded := m.flight.req.Turn < t.no
	if wanted > 0 && len(m.resp.Grants) == 0 && !superseded && now.Sub(m.flight.sent) < wanted/10 {
		t.pollDelay = min(max(2*t.pollDelay, delay), maxPollDelay)
	} else {
		t.pollDelay = 0
	}
	t.pollAt = now.Add(max(delay, t.pollDelay))
}

// settleSaid takes in the answers to reports, recoveries and returned jobs.
func (r *Runner) settleSaid(req *api.TurnRequest, resp *api.TurnResponse) {
	t := &r.turns
	said := len(req.Reports) + len(req.Recovered)
	if len(resp.Results) != said {
		r.log.Error("daemon answered another number of reports than it was sent",
			"sent", said, "answered", len(resp.Results))
	}
	for i := range req.Reports {
		if i < len(resp.Results) {
			r.onResult(&req.Reports[i], &resp.Results[i])
		}
	}
	for i := range req.Recovered {
		if a := r.attempts[req.Recovered[i].LeaseRef]; a != nil {
			r.forget(a)
		}
	}
	for _, ref := range req.GiveBack {
		if a := r.attempts[ref]; a != nil {
			r.forget(a)
		}
	}
	t.outbox = dropFirst(t.outbox, len(req.Reports))
	t.answered += int64(len(req.Reports))
	t.recovered = dropFirst(t.recovered, len(req.Recovered))
	t.giveBack = dropFirst(t.giveBack, len(req.GiveBack))
	if len(t.outbox) > 0 && t.reportDue.IsZero() {
		t.reportDue = time.Now()
	}
}

func dropFirst[T any](list []T, n int) []T {
	if n == len(list) {
		return nil
	}
	return list[n:]
}

// onResult takes in the daemon's word on one report.
func (r *Runner) onResult(report *api.Report, result *api.ReportResult) {
	a := r.attempts[report.LeaseRef]
	switch result.Outcome {
	case api.OutcomeAccepted:
		r.count(result)
		r.actions.due = true
	case api.OutcomeDuplicate:
	default:
		r.log.Warn("report not taken", "job_id", report.JobID, "attempt_id", report.Attempt,
			"outcome", result.Outcome, "message", result.Message)
	}
	if a == nil {
		return // of an earlier life of this runner
	}
	r.emitFor(a, Event{
		Kind: EventEnded, Status: result.Status, ReturnCode: result.ReturnCode,
		Cause: workflow.CauseKind(result.Cause), Reason: result.Reason, Message: result.Message,
		Duration: time.Duration(report.EndedMS-report.StartedMS) * time.Millisecond,
	})
	if result.Recovery != nil {
		r.repair(a, result.Recovery)
		return
	}
	r.forget(a)
}

func (r *Runner) count(result *api.ReportResult) {
	r.summary.Attempts++
	r.summary.ByStatus[result.Status]++
	r.summary.ByCause[workflow.CauseKind(result.Cause)]++
}

// untilNext returns how long the loop may sleep.
func (r *Runner) untilNext(now time.Time) time.Duration {
	t := &r.turns
	next := now.Add(time.Second) // idle and outage limits are whole seconds
	if at := r.sayAt(now); !at.IsZero() {
		next = minTime(next, at)
	}
	if t.saying == nil && t.outage.since.IsZero() && t.pollAt.After(now) {
		next = minTime(next, t.pollAt)
	}
	if !r.schedule.end.IsZero() && !r.leaving.active() {
		next = minTime(next, r.schedule.drainAt)
	}
	return max(0, next.Sub(now))
}

// refused returns the daemon's refusal in err, nil if it did not answer.
func refused(err error) *client.APIError {
	var e *client.APIError
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != 408 && e.Status != 429 {
		return e
	}
	return nil
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
