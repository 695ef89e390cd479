package runner

import (
	"errors"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// onAnswer processes the answer to a turn, or its error.
func (t *turns) onAnswer(m answerMsg) {
	now := time.Now()
	reported := m.flight == t.reporting
	if reported {
		t.reporting = nil
	}
	if m.flight == t.polling {
		t.polling = nil
	}
	if m.err != nil {
		t.onTurnError(m.err, now)
		return
	}
	t.outageOver(now)
	t.answers++
	if m.flight.req.Free.Slots > 0 {
		t.lastWorkRequest = maxTime(t.lastWorkRequest, m.flight.sent)
	}
	t.leaseUntil = maxTime(t.leaseUntil, m.flight.sent.Add(secondsOf(t.runner.about.LeaseSeconds)))
	if reported {
		t.settleReports(m.flight.req, m.resp)
	}
	t.runner.setPatterns(m.resp.Patterns)
	for i := range m.resp.Grants {
		t.runner.queue.accept(m.resp.Grants[i], now)
	}
	for _, ref := range m.resp.Voided {
		t.runner.work.void(ref)
	}
	for _, ref := range m.resp.Cancel {
		t.runner.work.cancelOne(ref)
	}
	for _, order := range m.resp.Orders {
		t.runner.leaving.onOrder(order)
	}
	if m.flight.req.Turn > t.newestAnswer {
		t.newestAnswer = m.flight.req.Turn
		t.updateState(m.resp)
	}
	t.setPollDelay(m, now)
	t.dropClosed()
}

// settleReports processes the answers to reports, recoveries and returned jobs.
func (t *turns) settleReports(req *lease.TurnRequest, resp *lease.TurnResponse) {
	sent := len(req.Reports) + len(req.Recovered)
	if len(resp.Results) != sent {
		t.runner.log.Error("the daemon did not answer as many reports as it was sent",
			"sent", sent, "answered", len(resp.Results))
	}
	for i := range req.Reports {
		if i < len(resp.Results) {
			t.onResult(&req.Reports[i], &resp.Results[i])
		}
	}
	for i := range req.Recovered {
		if a := t.runner.work.attempts[req.Recovered[i].LeaseRef]; a != nil {
			t.runner.work.forget(a)
		}
	}
	for _, ref := range req.GiveBack {
		if a := t.runner.work.attempts[ref]; a != nil {
			t.runner.work.forget(a)
		}
	}
	t.started = dropFirst(t.started, len(req.Started))
	t.outbox = dropFirst(t.outbox, len(req.Reports))
	t.answered += int64(len(req.Reports))
	t.notStarted = dropFirst(t.notStarted, len(req.NotStarted))
	t.recovered = dropFirst(t.recovered, len(req.Recovered))
	t.giveBack = dropFirst(t.giveBack, len(req.GiveBack))
	if len(t.outbox) > 0 && t.reportDue.IsZero() {
		t.reportDue = time.Now()
	}
}

// onResult processes the daemon's answer to one report.
func (t *turns) onResult(report *lease.Report, result *lease.ReportResult) {
	a := t.runner.work.attempts[report.LeaseRef]
	switch result.Outcome {
	case lease.Accepted:
		t.runner.count(result)
		t.runner.actions.due = true
	case lease.Duplicate:
	default:
		t.runner.log.Warn("report rejected", "job_id", report.JobID, "attempt_id", report.Attempt,
			"outcome", result.Outcome, "message", result.Message)
	}
	if a == nil {
		return // the report of an earlier runner
	}
	t.runner.emitFor(a, Event{
		Kind: EventEnded, Status: result.Status, ReturnCode: result.ReturnCode,
		Cause: workflow.CauseKind(result.Cause), Reason: result.Reason, Message: result.Message,
		Duration: time.Duration(report.EndedMS-report.StartedMS) * time.Millisecond,
	})
	if result.Recovery != nil {
		t.runner.repairs.queueScript(a, result.Recovery)
		return
	}
	t.runner.work.forget(a)
}

func (r *Runner) count(result *lease.ReportResult) {
	r.summary.Attempts++
	r.summary.ByStatus[result.Status]++
	r.summary.ByCause[workflow.CauseKind(result.Cause)]++
}

// updateState stores what the newest answer says about the workflow and the allocation.
func (t *turns) updateState(resp *lease.TurnResponse) {
	t.latest = lease.TurnResponse{
		Complete: resp.Complete, Canceled: resp.Canceled,
		OpenJobs: resp.OpenJobs, HeldJobs: resp.HeldJobs, ClaimableLater: resp.ClaimableLater, ClaimsHeld: resp.ClaimsHeld, WaitsForHost: resp.WaitsForHost,
	}
	end, err := parseEnd(resp.EndTime)
	if err != nil {
		t.runner.log.Warn("the daemon sent an invalid end time", "error", err)
	} else if !end.IsZero() && (t.runner.slurmReasons.nodesLost == nil || end.Before(t.runner.schedule.end)) { // else our end is more recent
		t.runner.schedule = t.runner.policy.schedule(t.runner.began, end)
	}
	if resp.Canceled {
		t.runner.leaving.onOrder(lease.OrderCancel)
	}
}

// setPollDelay decides when to send the next long poll. A daemon that answers at once
// although it has no news is polled less and less often.
func (t *turns) setPollDelay(m answerMsg, now time.Time) {
	delay := contentDelay
	if t.runner.room.busy+int64(len(t.runner.queue.waiting)) < t.runner.room.slots() {
		delay = wantsWorkDelay
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

func dropFirst[T any](list []T, n int) []T {
	if n == len(list) {
		return nil
	}
	return list[n:]
}

// rejection returns the error with which the daemon rejected the runner, nil for an
// error that may pass. A rejected credential may be corrected, but the secret of an
// allocation may not: the daemon considers the allocation ended.
func (t *turns) rejection(err error) *client.APIError {
	var e *client.APIError
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity:
		return e
	case http.StatusUnauthorized, http.StatusForbidden:
		if t.runner.opts.Allocation != nil {
			return e
		}
	}
	return nil
}
