// Package engine changes the state of jobs. It initializes, releases and ends them, carries
// out the decisions of package retry, and moves stages, compensations and runs to their
// end. The files transition_*.go define which operation sets which status.
package engine

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// Finisher records the ends of attempts of one run with all their consequences. Flush
// writes what it has collected, many rows at a time.
type Finisher struct {
	tx       *core.Tx
	Run      *view.Run
	attempts *sqlite.Bulk
	results  *sqlite.Bulk
	Changes  []Change
	others   map[int64]*core.LeasedJob // leases by job, as far as they were read
	Rules    map[view.JobRules]retry.Policies
	Changed  bool     // something besides the rows was written
	culprit  *culprit // the job because of which siblings are ended
	giveUp   string   // why the run is aborted; empty: it is not
	broken   []brokenBy
}

// NewFinisher returns a Finisher for attempts of a run.
func NewFinisher(tx *core.Tx, r *view.Run) *Finisher {
	return &Finisher{tx: tx, Run: r, attempts: newAttempts(tx), results: newResults(tx)}
}

// Ending is how an attempt ended.
type Ending struct {
	Cause    workflow.Cause
	Evidence *workflow.Evidence // nil if nothing is known
	EndMS    int64
	Host     Holder
	Client   *workflow.Result // what a torc client reported; nil for our runners
	NoResult bool             // torc records no result for such an end

	category, subcategory string // of the failure
}

// failure returns the attempt as a Failure, for the rules.
func (e *Ending) failure(l *core.LeasedJob) workflow.Failure {
	f := workflow.Failure{Cause: e.Cause, Node: e.Host.Hostname}
	if e.Evidence != nil {
		f.Evidence = *e.Evidence
	}
	f.Evidence.Category, f.Evidence.Subcategory = e.category, e.subcategory
	if l.StartMS.Valid {
		f.Elapsed = time.Duration(e.EndMS-l.StartMS.Int64) * time.Millisecond
	}
	return f
}

// Change is a change of a job's status after an attempt.
type Change struct {
	Job      int64
	Op       workflow.Operation // empty: the end of an attempt
	From, To workflow.JobStatus
	// Next continues the job; nil if it has ended.
	Next *Next
}

// Next is the state in which a job continues after an attempt.
type Next struct {
	Attempt     int64
	ruleCounts  any // JSON
	counted     int64
	notBeforeMS int64
	settledMS   any    // notBeforeMS once the previous attempt is known to have ended; nil: it is known
	avoidNodes  any    // JSON
	recovery    string // JSON; the job keeps its lease
	hold        string // JSON
}

// End records the end of an attempt, decides what happens to the job, and updates the
// lease.
func (f *Finisher) End(l *core.LeasedJob, e Ending) (lease.ReportResult, error) {
	g, err := f.factsOf(l, &e)
	if err != nil {
		return lease.ReportResult{}, err
	}
	o := retry.Decide(g.Facts)
	f.AbortFor(l, o.Abort)
	if err := f.Record(l, &e, &o.Decision); err != nil {
		return lease.ReportResult{}, err
	}
	c := Change{Job: l.JobID, From: l.Status, To: o.Status}
	result := lease.ReportResult{LeaseRef: l.LeaseRef, Outcome: lease.Accepted, ReturnCode: e.Cause.ReturnCode, Cause: e.Cause.Kind, Category: e.category, Reason: o.Reason}
	if c.Next, err = f.Continue(l, g, &o, e.Cause); err != nil {
		return result, err
	}
	if o.Action == workflow.ActionRecover {
		if result.Recovery, err = f.recover(l, &e, &o, c.Next); err != nil {
			return result, err
		}
	}
	f.Changes = append(f.Changes, c)
	l.Status, l.Recovering = c.To, o.Action == workflow.ActionRecover
	result.Status = c.To
	l.Ended = &result
	if err := f.endsSiblings(l, &e); err != nil {
		return result, err
	}
	return result, f.Announce(l, &e, &o.Decision, c.Next)
}

// Continue stores the requirements of the next attempt of a job. It returns how the job
// continues; nil if it has ended, or continues as granted before.
func (f *Finisher) Continue(l *core.LeasedJob, g *Facts, o *retry.Outcome, cause workflow.Cause) (*Next, error) {
	if o.Action == workflow.ActionHold {
		return f.hold(l, cause, o.Reason, o.Limit)
	}
	if o.Next == nil {
		return nil, nil
	}
	if o.Grown != nil {
		if err := growRequirements(f.tx, l, g.asks, *o.Grown); err != nil {
			return nil, err
		}
	}
	a := o.Next
	counts, err := json.Marshal(a.Used.Rules)
	if err != nil {
		return nil, fmt.Errorf("count the retries of job %d: %w", l.JobID, err)
	}
	n := &Next{Attempt: a.Number, ruleCounts: string(counts), counted: a.Used.CountedFails}
	if a.Settle > 0 {
		n.settledMS = f.tx.After(a.Delay)
	}
	if n.notBeforeMS = f.tx.After(a.Wait()); n.notBeforeMS > 0 {
		f.tx.Delayed(n.notBeforeMS)
	}
	if len(a.Avoided) > 0 {
		text, err := json.Marshal(a.Avoided)
		if err != nil {
			return nil, fmt.Errorf("avoid nodes for job %d: %w", l.JobID, err)
		}
		n.avoidNodes = string(text)
	}
	return n, nil
}

// avoided returns the nodes that a job avoids.
func avoided(tx *core.Tx, job int64) ([]workflow.AvoidedNode, error) {
	var text sql.NullString
	if err := tx.Row(`SELECT avoid_nodes FROM job WHERE id = ?`, []any{job}, &text); err != nil {
		return nil, fmt.Errorf("read the avoid list of job %d: %w", job, err)
	}
	list, err := view.ReadAvoided(text)
	return list, sqlite.Wrap(err, "job %d", job)
}

// hold makes the job wait for a classification. The time limit is that of the rule, else of
// the workflow, else of the site.
func (f *Finisher) hold(l *core.LeasedJob, c workflow.Cause, reason string, rule workflow.HoldLimitSource) (*Next, error) {
	err := core.RaiseAlert(f.tx, f.Run, workflow.Alert{
		Kind: workflow.AlertJobHeld, JobID: l.JobID, JobName: l.Name, Subject: fmt.Sprintf("job %s is held", l.Name),
		Text: fmt.Sprintf("Attempt %d: %s\n%s\nDecide with: torc-slurm holds list %d", l.Attempt, c.Summary(), reason, f.Run.WorkflowID),
	})
	if err != nil {
		return nil, err
	}
	policy, err := f.Run.Policy()
	if err != nil {
		return nil, err
	}
	h := workflow.Hold{Reason: reason, SinceMS: f.tx.NowMS}
	h.SetDeadline(rule, workflow.HoldLimitSource{Limit: policy.ClassifyTimeout, Of: "the workflow"}, f.tx.Shared.HoldLimit())
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("hold job %d: %w", l.JobID, err)
	}
	return &Next{Attempt: l.Attempt, hold: string(text)}, nil
}

// Announce writes the event for the end of an attempt.
func (f *Finisher) Announce(l *core.LeasedJob, e *Ending, d *workflow.Decision, n *Next) error {
	if d.Retries() {
		p := event.JobRetriedPayload{
			EventType: workflow.EventJobRetried, JobID: l.JobID, JobName: l.Name, PreviousAttempt: l.Attempt, NewAttempt: l.Attempt + 1,
			RunID: f.Run.RunID, Message: d.Reason, Cause: e.Cause.Kind, Text: e.Cause.Text, Category: e.category, Rule: d.Rule, Counted: d.Counted,
			Recovery: d.Action == workflow.ActionRecover,
		}
		if n.notBeforeMS > 0 {
			p.NotBeforeMS = &n.notBeforeMS
		}
		return f.tx.Event(f.Run.WorkflowID, string(workflow.EventJobRetried), event.SeverityWarning, p)
	}
	return f.AnnounceStatus(l, e.Cause, d.Reason)
}

// AnnounceStatus writes the event for a job's new status.
func (f *Finisher) AnnounceStatus(l *core.LeasedJob, c workflow.Cause, reason string) error {
	kind, severity, ok := event.OfStatus(l.Status)
	if !ok {
		return nil
	}
	if err := f.noteOutcome(l); err != nil {
		return err
	}
	if err := f.firstFailure(l, c); err != nil {
		return err
	}
	p := event.NewJobEndedPayload(l.JobID, l.Name, f.Run.RunID, l.Attempt, l.Status, c, reason)
	if p.RoutedToEnd && f.Run.Stages {
		var after bool
		err := f.tx.Row(`SELECT EXISTS (SELECT 1 FROM job j JOIN stage s ON s.id = j.stage_id AND s.kind IN ('end', 'compensation') WHERE j.id = ?)`,
			[]any{l.JobID}, &after)
		if err != nil {
			return fmt.Errorf("find the stage of job %d: %w", l.JobID, err)
		}
		if after {
			p.RoutedToEnd, p.OriginalFailedJob = false, ""
		}
	}
	return f.tx.Event(f.Run.WorkflowID, string(kind), severity, p)
}

// Lost records that the end of a running attempt is unknown, and decides what happens.
func (f *Finisher) Lost(l *core.LeasedJob, host Holder, note string) error {
	return f.EndedBy(l, host, workflow.Evidence{LostRunner: true, Note: note})
}

// EndedBy records the end of a running attempt that its runner did not report, and decides
// what happens.
func (f *Finisher) EndedBy(l *core.LeasedJob, host Holder, evidence workflow.Evidence) error {
	codes, err := f.Run.ReturnCodes()
	if err != nil {
		return err
	}
	e := Ending{Cause: failure.Classify(evidence, codes, nil), Evidence: &evidence, EndMS: f.tx.NowMS, Host: host}
	_, err = f.End(l, e)
	return err
}

// RecordEndedElsewhere records an attempt that something else ended, and voids its lease. The caller
// decides what happens to the job.
func (f *Finisher) RecordEndedElsewhere(l *core.LeasedJob, c workflow.Cause, d workflow.Decision) error {
	host, err := LoadHolder(f.tx, l.RunnerID)
	if err != nil {
		return err
	}
	if l.RunnerID.Valid {
		f.tx.Changes.Runners = core.AppendNew(f.tx.Changes.Runners, []int64{l.RunnerID.Int64})
	}
	if err := f.Record(l, &Ending{Cause: c, EndMS: f.tx.NowMS, Host: host, NoResult: true}, &d); err != nil {
		return err
	}
	err = f.attempts.Flush()
	return sqlite.Wrap(err, "record attempt %d of job %d", l.Attempt, l.JobID)
}

// Flush writes what was collected, with its consequences. It reports whether there was
// anything.
func (f *Finisher) Flush() (bool, error) {
	if len(f.Changes) == 0 {
		err := f.abortNoted()
		return f.Changed, err
	}
	if err := f.attempts.Flush(); err != nil {
		return true, fmt.Errorf("write attempts of workflow %d: %w", f.Run.WorkflowID, err)
	}
	if err := f.results.Flush(); err != nil {
		return true, fmt.Errorf("write results of workflow %d: %w", f.Run.WorkflowID, err)
	}
	if err := tripBreakers(f); err != nil {
		return true, err
	}
	done, err := ApplyChanges(f.tx, f.Run, f.Changes)
	if err != nil {
		return true, err
	}
	f.Changes = nil
	if err := f.endSiblings(); err != nil {
		return true, err
	}
	switch {
	case len(done) > 0:
		err = ReleaseDependents(f.tx, f.Run.WorkflowID, done)
	case !f.Run.Compensating(): // such as a canceled workflow that has its verdict
		err = ReopenIfOpen(f.tx, f.Run)
	}
	if err == nil {
		err = core.ReviewFailed(f.tx, f.Run)
	}
	if err != nil {
		return true, err
	}
	return true, f.abortNoted()
}
