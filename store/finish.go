package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// finisher records the ends of attempts of one run, and all that follows from
// them. What it collects is written by flush, many rows at a time.
type finisher struct {
	tx       *Tx
	run      *run
	attempts *bulk
	results  *bulk
	changes  []change
	others   map[int64]*lease // leases that were looked up by job
	rules    map[jobRules]workflow.Policies
	changed  bool     // something was written beside the rows
	culprit  *culprit // who has its siblings ended
	giveUp   string   // why the run is given up; empty: it is not
	broken   []brokenBy
}

func newFinisher(tx *Tx, r *run) *finisher {
	return &finisher{tx: tx, run: r, attempts: newAttempts(tx), results: newResults(tx)}
}

// ending is how an attempt ended.
type ending struct {
	cause    workflow.Cause
	evidence *workflow.Evidence // nil if there is none
	endMS    int64
	host     holder
	client   *workflow.Result // what a torc client reported; nil for our runners
	noResult bool             // torc knows no result of such an end

	category, subcategory string // of a failure
}

// failure is the attempt as rules look at it.
func (e *ending) failure(l *lease) workflow.Failure {
	f := workflow.Failure{Cause: e.cause, Node: e.host.hostname}
	if e.evidence != nil {
		f.Evidence = *e.evidence
	}
	f.Evidence.Category, f.Evidence.Subcategory = e.category, e.subcategory
	if l.startMS.Valid {
		f.Elapsed = time.Duration(e.endMS-l.startMS.Int64) * time.Millisecond
	}
	return f
}

// change is a change of a job's status after an attempt.
type change struct {
	job      int64
	from, to workflow.JobStatus
	// How the job goes on; nil if it has ended.
	next *next
}

// next is how a job goes on after an attempt.
type next struct {
	attempt     int64
	ruleCounts  any // JSON
	counted     int64
	notBeforeMS int64
	settledMS   any    // notBeforeMS once the attempt before is known to be gone; nil: it is
	avoidNodes  any    // JSON
	recovery    string // JSON; the lease stays
	hold        string // JSON
}

// end records the end of an attempt, decides what happens to the job, and
// notes it in the lease.
func (f *finisher) end(l *lease, e ending) (ReportResult, error) {
	history := workflow.History{AttemptID: l.Attempt, ReportedByOld: e.client != nil}
	var policies workflow.Policies
	if e.cause.Status.IsUnsuccessful() {
		if err := f.categorize(&e); err != nil {
			return ReportResult{}, err
		}
		failure := e.failure(l)
		if err := f.noteFailure(&failure); err != nil {
			return ReportResult{}, err
		}
	}
	if e.cause.Status.IsUnsuccessful() && e.client == nil {
		var err error
		if policies, err = f.policies(l.JobID, l.runnerID, &history); err != nil {
			return ReportResult{}, err
		}
	}
	onTimeout, err := f.doomed(l)
	if err != nil {
		return ReportResult{}, err
	}
	d := workflow.Decide(policies, history, e.failure(l))
	if l.doom != "" && d.Action != workflow.ActionNone {
		d = workflow.Decision{Action: workflow.ActionFail, Reason: l.doom}
		f.givesUp(onTimeout, l, d.Reason)
	}
	if d.Rule == workflow.RuleRunTimeout {
		f.givesUp(policies.OnRunTimeout, l, e.cause.Text+"; "+d.Reason)
	}
	if d.Retries() && !policies.NeverHeld {
		failure := e.failure(l)
		trip, err := f.tx.tripFor(f.run, func(t *workflow.BreakerTrip) bool { return t.Holds(&failure) })
		if err != nil {
			return ReportResult{}, err
		}
		if trip != nil {
			d = trip.Hold(d)
		}
	}
	if d.Retries() && d.Mutate != nil {
		if err := f.grow(l, &e, &d); err != nil {
			return ReportResult{}, err
		}
	}
	if err := f.record(l, &e, &d); err != nil {
		return ReportResult{}, err
	}
	c := change{job: l.JobID, from: l.status, to: e.cause.Status}
	result := ReportResult{LeaseRef: l.LeaseRef, Outcome: Accepted, ReturnCode: e.cause.ReturnCode, Cause: e.cause.Kind, Category: e.category, Reason: d.Reason}
	switch d.Action {
	case workflow.ActionRetry:
		c.to = workflow.Ready
		c.next, err = f.retry(l, &e, &d, history)
	case workflow.ActionRecover:
		c.to = workflow.Pending
		c.next, result.Recovery, err = f.recover(l, &e, &d, history)
	case workflow.ActionHold:
		c.to = workflow.PendingFailed
		c.next, err = f.hold(l, e.cause, d.Reason, limitOf(&d))
	}
	if err != nil {
		return result, err
	}
	f.changes = append(f.changes, c)
	l.status, l.recovering = c.to, d.Action == workflow.ActionRecover
	result.Status = c.to
	l.ended = &result
	if err := f.endsSiblings(l, &e); err != nil {
		return result, err
	}
	return result, f.announce(l, &e, &d, c.next)
}

// retry makes the job ready for another attempt.
func (f *finisher) retry(l *lease, e *ending, d *workflow.Decision, h workflow.History) (*next, error) {
	granted := h.Grant(*d)
	counts, err := json.Marshal(granted.Rules)
	if err != nil {
		return nil, fmt.Errorf("count the retries of job %d: %w", l.JobID, err)
	}
	n := &next{attempt: l.Attempt + 1, ruleCounts: string(counts), counted: granted.CountedFails}
	delay := d.Jitter.Draw(d.Delay, workflow.Spread(l.JobID, f.run.runID, l.Attempt))
	if d.Settle > delay {
		n.settledMS = f.tx.after(delay)
	}
	if n.notBeforeMS = f.tx.after(max(delay, d.Settle)); n.notBeforeMS > 0 {
		f.tx.delayed(n.notBeforeMS)
	}
	n.avoidNodes, err = f.avoid(l, e, d.Avoid)
	return n, err
}

// avoid returns the nodes that the next attempt keeps away from, as JSON.
func (f *finisher) avoid(l *lease, e *ending, a *workflow.AvoidNodes) (any, error) {
	var before sql.NullString
	if a != nil && a.Mode == workflow.AvoidAll {
		if err := f.tx.row(`SELECT avoid_nodes FROM job WHERE id = ?`, []any{l.JobID}, &before); err != nil {
			return nil, fmt.Errorf("read the avoid list of job %d: %w", l.JobID, err)
		}
	}
	list, err := readAvoided(before)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", l.JobID, err)
	}
	if list = a.Extend(list, e.host.hostname, f.tx.nowMS); len(list) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("avoid nodes for job %d: %w", l.JobID, err)
	}
	return string(text), nil
}

// readAvoided reads a stored avoid list.
func readAvoided(text sql.NullString) (list []workflow.AvoidedNode, err error) {
	if !text.Valid {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text.String), &list); err != nil {
		return nil, fmt.Errorf("read an avoid list: %w", err)
	}
	return list, nil
}

// limitOf is how long the rule that decided lets a held job wait.
func limitOf(d *workflow.Decision) workflow.HoldLimitSource {
	return workflow.HoldLimitSource{Limit: d.HoldLimit, Of: "rule " + d.Rule}
}

// hold makes the job wait for a classification, at most for as long as the rule
// that decided says, else the workflow, else the site.
func (f *finisher) hold(l *lease, c workflow.Cause, reason string, rule workflow.HoldLimitSource) (*next, error) {
	err := f.tx.alert(f.run, workflow.Alert{
		Kind: workflow.AlertJobHeld, JobID: l.JobID, JobName: l.name, Subject: fmt.Sprintf("job %s is held", l.name),
		Text: fmt.Sprintf("Attempt %d: %s\n%s\nDecide with: torc-slurm holds list %d", l.Attempt, c.Summary(), reason, f.run.workflowID),
	})
	if err != nil {
		return nil, err
	}
	policy, err := f.run.policy()
	if err != nil {
		return nil, err
	}
	h := workflow.Hold{Reason: reason, SinceMS: f.tx.nowMS}
	h.Limited(rule, workflow.HoldLimitSource{Limit: policy.ClassifyTimeout, Of: "the workflow"}, f.tx.w.holdLimit())
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("hold job %d: %w", l.JobID, err)
	}
	return &next{attempt: l.Attempt, hold: string(text)}, nil
}

// announce writes the event of an attempt's end.
func (f *finisher) announce(l *lease, e *ending, d *workflow.Decision, n *next) error {
	if d.Retries() {
		p := workflow.JobRetriedPayload{
			EventType: workflow.EventJobRetried, JobID: l.JobID, JobName: l.name, PreviousAttempt: l.Attempt, NewAttempt: l.Attempt + 1,
			RunID: f.run.runID, Message: d.Reason, Cause: e.cause.Kind, Text: e.cause.Text, Category: e.category, Rule: d.Rule, Counted: d.Counted,
			Recovery: d.Action == workflow.ActionRecover,
		}
		if n.notBeforeMS > 0 {
			p.NotBeforeMS = &n.notBeforeMS
		}
		return f.tx.event(f.run.workflowID, string(workflow.EventJobRetried), workflow.SeverityWarning, p)
	}
	return f.announceStatus(l, e.cause, d.Reason)
}

// announceStatus writes the event that a job has reached its status.
func (f *finisher) announceStatus(l *lease, c workflow.Cause, reason string) error {
	kind, severity, ok := workflow.JobEvent(l.status)
	if !ok {
		return nil
	}
	p := workflow.NewJobEndedPayload(l.JobID, l.name, f.run.runID, l.Attempt, l.status, c, reason)
	if p.RoutedToEnd && f.run.stages {
		var after bool
		err := f.tx.row(`SELECT EXISTS (SELECT 1 FROM job j JOIN stage s ON s.id = j.stage_id AND s.kind IN ('end', 'compensation') WHERE j.id = ?)`,
			[]any{l.JobID}, &after)
		if err != nil {
			return fmt.Errorf("find the stage of job %d: %w", l.JobID, err)
		}
		if after {
			p.RoutedToEnd, p.OriginalFailedJob = false, ""
		}
	}
	return f.tx.event(f.run.workflowID, string(kind), severity, p)
}

// lost records that nobody saw how a running attempt ended, and what is to be
// done.
func (f *finisher) lost(l *lease, host holder, note string) error {
	return f.endedBy(l, host, workflow.Evidence{LostRunner: true, Note: note})
}

// endedBy records how a running attempt ended of which its runner has said
// nothing, and what is to be done.
func (f *finisher) endedBy(l *lease, host holder, evidence workflow.Evidence) error {
	codes, err := f.run.returnCodes()
	if err != nil {
		return err
	}
	e := ending{cause: workflow.Classify(evidence, codes, nil), evidence: &evidence, endMS: f.tx.nowMS, host: host}
	_, err = f.end(l, e)
	return err
}

// cutOff records an attempt that somebody else ended: its lease is taken away,
// and what becomes of the job is the caller's.
func (f *finisher) cutOff(l *lease, c workflow.Cause, d workflow.Decision) error {
	host, err := f.tx.holder(l.runnerID)
	if err != nil {
		return err
	}
	if l.runnerID.Valid {
		f.tx.changes.Runners = appendNew(f.tx.changes.Runners, []int64{l.runnerID.Int64})
	}
	if err := f.record(l, &ending{cause: c, endMS: f.tx.nowMS, host: host, noResult: true}, &d); err != nil {
		return err
	}
	if err := f.attempts.flush(); err != nil {
		return fmt.Errorf("record attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	return nil
}

// flush writes what was collected, with its consequences. It reports whether
// there was anything.
func (f *finisher) flush() (bool, error) {
	if len(f.changes) == 0 {
		err := f.giveUpRun()
		return f.changed, err
	}
	if err := f.attempts.flush(); err != nil {
		return true, fmt.Errorf("write attempts of workflow %d: %w", f.run.workflowID, err)
	}
	if err := f.results.flush(); err != nil {
		return true, fmt.Errorf("write results of workflow %d: %w", f.run.workflowID, err)
	}
	if err := f.tripBreakers(); err != nil {
		return true, err
	}
	done, err := f.tx.applyChanges(f.run, f.changes)
	if err != nil {
		return true, err
	}
	f.changes = nil
	if err := f.endSiblings(); err != nil {
		return true, err
	}
	switch {
	case len(done) > 0:
		err = f.tx.completed(f.run.workflowID, done)
	case !f.run.compensating(): // of a canceled workflow that has its verdict, for one
		err = f.tx.reopenIfOpen(f.run)
	}
	if err == nil {
		err = f.tx.reviewFailed(f.run)
	}
	if err != nil {
		return true, err
	}
	return true, f.giveUpRun()
}
