package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// notReady are the columns of a job that is not ready any more; that all its
// time was over is not told again.
const notReady = `ready_ms = NULL, told = told & 8`

// stampReady notes since when jobs are ready that have timeouts, in workflows in
// which jobs became ready.
func (tx *Tx) stampReady() error {
	for _, id := range tx.changes.Ready {
		_, err := tx.exec(`UPDATE job SET ready_ms = ?2, first_ready_ms = COALESCE(first_ready_ms, ?2)
			WHERE policy_id IN (SELECT id FROM job_policy WHERE workflow_id = ?1 AND watched = 1)
				AND status = 2 AND policy_id IS NOT NULL AND told & 1 = 0 AND ready_ms IS NULL`, id, tx.nowMS)
		if err != nil {
			return fmt.Errorf("note since when jobs of workflow %d are ready: %w", id, err)
		}
	}
	return nil
}

// overdueJobs select the jobs with the policy ?1 of which a timeout has expired
// that began at ?2 or earlier. Indexes have the same conditions.
var overdueJobs = map[workflow.Timeout]string{
	workflow.TimeoutQueue: `policy_id = ?1 AND status = 2 AND policy_id IS NOT NULL AND told & 1 = 0 AND ready_ms <= ?2 AND not_before_ms <= ?2`,
	workflow.TimeoutRun:   `policy_id = ?1 AND status = 4 AND policy_id IS NOT NULL AND told & 2 = 0 AND start_ms <= ?2`,
	workflow.TimeoutTotal: `policy_id = ?1 AND status IN (2, 3, 4, 10) AND policy_id IS NOT NULL AND told & 8 = 0 AND first_ready_ms <= ?2 AND phase = 0`,
}

// watchedPolicies selects the policies with timeouts, in workflows that have not
// ended. The + has SQLite take the index of such policies.
const watchedPolicies = `SELECT p.id, p.workflow_id, p.policy FROM job_policy p JOIN workflow w ON w.id = p.workflow_id
	WHERE p.watched = 1 AND w.has_ended = 0 AND w.is_canceled = 0 AND w.is_hidden = 0 ORDER BY +p.id`

// Overdue are jobs of which a timeout has expired.
type Overdue struct {
	WorkflowID int64
	PolicyID   int64
	Timeout    workflow.Timeout
	Limit      workflow.TimeLimit
	Example    int64 // one of the jobs
}

// Overdue looks for jobs of which a timeout has expired, by the clock of the
// database, in workflows that have not ended.
func (s *Store) Overdue(ctx context.Context) ([]Overdue, error) {
	type watched struct {
		id, workflowID int64
		text           string
	}
	rows, err := s.read.QueryContext(ctx, watchedPolicies)
	if err != nil {
		return nil, fmt.Errorf("look for timeouts: %w", err)
	}
	policies, err := collect(rows, func(r rowScanner) (p watched, err error) { return p, r.Scan(&p.id, &p.workflowID, &p.text) })
	if err != nil {
		return nil, fmt.Errorf("look for timeouts: %w", err)
	}
	now := s.now().UnixMilli()
	var all []Overdue
	for _, p := range policies {
		var policy workflow.JobPolicy
		if err := json.Unmarshal([]byte(p.text), &policy); err != nil {
			return nil, fmt.Errorf("read job policy %d: %w", p.id, err)
		}
		for _, which := range []workflow.Timeout{workflow.TimeoutTotal, workflow.TimeoutQueue, workflow.TimeoutRun} {
			limit := policy.Timeouts.Limit(which)
			if limit == nil {
				continue
			}
			o := Overdue{WorkflowID: p.workflowID, PolicyID: p.id, Timeout: which, Limit: *limit}
			err := s.read.QueryRowContext(ctx, `SELECT COALESCE((SELECT id FROM job WHERE `+overdueJobs[which]+` LIMIT 1), 0)`,
				p.id, now-limit.Duration().Milliseconds()).Scan(&o.Example)
			if err != nil {
				return nil, fmt.Errorf("look for jobs of workflow %d with an expired %s: %w", p.workflowID, which, err)
			}
			if o.Example != 0 {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// expireChunk is how many jobs one use case ends at most.
const expireChunk = 1000

// Expire does what is to be done about jobs of which a timeout has expired, once
// for each, and returns how many it ended or has ended: none with the policy alert.
// The explanation says why one of them waits.
func (s *Store) Expire(_ context.Context, o Overdue, explanation string) (n int64, err error) {
	for chunk := int64(expireChunk); chunk == expireChunk; n += chunk {
		err := s.writer.do("expire jobs", func(tx *Tx) (err error) {
			chunk, err = tx.expireJobs(&o, explanation)
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (tx *Tx) expireJobs(o *Overdue, explanation string) (n int64, err error) {
	r, err := tx.run(o.WorkflowID)
	if err != nil || r.canceled || r.ended {
		return 0, err
	}
	began := tx.nowMS - o.Limit.Duration().Milliseconds()
	if o.Limit.Policy == workflow.OnTimeoutAlert {
		return 0, tx.tellExpired(r, o, began, explanation)
	}
	rows, err := tx.query(`SELECT `+leaseColumns+` FROM job WHERE `+overdueJobs[o.Timeout]+` ORDER BY id LIMIT ?3`, o.PolicyID, began, expireChunk)
	if err != nil {
		return 0, fmt.Errorf("look for jobs of workflow %d with an expired %s: %w", r.workflowID, o.Timeout, err)
	}
	jobs, err := collect(rows, scanLease)
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	e := expiry{tx: tx, f: newFinisher(tx, r), o: o}
	for i := range jobs {
		if err := e.end(&jobs[i]); err != nil {
			return 0, fmt.Errorf("%s of job %d: %w", o.Timeout, jobs[i].JobID, err)
		}
	}
	if _, err := e.f.flush(); err != nil {
		return 0, err
	}
	return int64(len(jobs)), nil
}

// tellExpired tells of all jobs of which a timeout has expired, in one alert.
func (tx *Tx) tellExpired(r *run, o *Overdue, began int64, explanation string) error {
	where := overdueJobs[o.Timeout]
	rows, err := tx.query(`SELECT name FROM job WHERE `+where+` ORDER BY id LIMIT ?3`, o.PolicyID, began, few)
	if err != nil {
		return fmt.Errorf("name jobs of workflow %d with an expired %s: %w", r.workflowID, o.Timeout, err)
	}
	names, err := collect(rows, scanString)
	if err != nil {
		return fmt.Errorf("name jobs of workflow %d with an expired %s: %w", r.workflowID, o.Timeout, err)
	}
	n, err := tx.exec(`UPDATE job SET told = told | ?3 WHERE `+where, o.PolicyID, began, o.Timeout.Bit())
	if err != nil || n == 0 {
		return err
	}
	a := o.Limit.Alert(o.Timeout, names, n)
	if a.Text = strings.TrimSpace(a.Text + "\n" + explanation); n == 1 {
		a.JobID, a.JobName = o.Example, names[0]
	}
	return tx.alert(r, a)
}

// expiry ends jobs of which a timeout has expired.
type expiry struct {
	tx *Tx
	f  *finisher
	o  *Overdue
}

// end ends a job, or has it ended.
func (e *expiry) end(l *lease) error {
	reason := e.o.Limit.Reason(e.o.Timeout)
	if l.status != workflow.Ready && l.status != workflow.PendingFailed {
		return e.order(l)
	}
	e.f.givesUp(e.o.Limit.Policy, l, reason)
	if l.status == workflow.Ready {
		return e.endWaiting(l)
	}
	w := workflow.Classification{Status: workflow.Failed, Author: e.o.Timeout.String(), Reason: reason, Confidence: workflow.Certain}
	_, err := e.tx.classify(l.JobID, w, false)
	return err
}

// endWaiting records the end of a job that nobody has claimed, as an attempt
// without a process.
func (e *expiry) endWaiting(l *lease) error {
	codes, err := e.f.run.returnCodes()
	if err != nil {
		return err
	}
	if err := e.tx.nextAttempt(l, e.f.run, 0); err != nil { // it may have run before, in the same run
		return err
	}
	cause := e.o.Limit.ExpiredCause(e.o.Timeout, codes)
	d := workflow.Decision{Action: workflow.ActionFail, Rule: e.o.Timeout.String(), Reason: fmt.Sprintf("%s has the policy %s", e.o.Timeout, e.o.Limit.Policy)}
	if err := e.f.record(l, &ending{cause: cause, endMS: e.tx.nowMS, noResult: true}, &d); err != nil {
		return err
	}
	e.f.changes = append(e.f.changes, change{job: l.JobID, from: l.status, to: cause.Status})
	l.status = cause.Status
	return e.f.announceStatus(l, cause, d.Reason)
}

// order has the runner of a job end it, with the grace. One of torc's cannot be
// told: it runs on.
func (e *expiry) order(l *lease) error {
	err := e.tx.execOne(`UPDATE job SET cancel_fence = fence, cancel_for = ?2, ended_by = NULL, told = told | ?3 WHERE id = ?1 AND status IN (3, 4)`,
		l.JobID, string(e.o.Timeout), e.o.Timeout.Bit())
	if err != nil {
		return err
	}
	if l.runnerID.Valid {
		e.tx.changes.Runners = appendNew(e.tx.changes.Runners, []int64{l.runnerID.Int64})
	}
	e.f.changed = true
	return nil
}

// doomed notes that a job has no time left that is being ended for a timeout,
// and returns what follows for the run.
func (f *finisher) doomed(l *lease) (workflow.TimeoutPolicy, error) {
	if !l.canceling || l.cancelFor == "" {
		return "", nil
	}
	var p workflow.JobPolicy
	err := policySource{f.tx.row}.json(&p, `SELECT p.policy FROM job j JOIN job_policy p ON p.id = j.policy_id WHERE j.id = ?`, l.JobID)
	if err != nil {
		return "", fmt.Errorf("read the timeouts of job %d: %w", l.JobID, err)
	}
	limit := p.Timeouts.Limit(l.cancelFor)
	if limit == nil {
		return "", nil
	}
	l.doom = limit.Reason(l.cancelFor)
	return limit.Policy, nil
}

// orderedFor says in the evidence of an attempt that we ended for a timeout that
// this was why. After a silence its allocation is canceled as well, be its runner
// heard again meanwhile.
func (l *lease) orderedFor(e *workflow.Evidence) {
	e.EndedBy = nil // it is ours to say
	switch {
	case !l.canceling || e.KilledBy != workflow.KilledBySibling:
	case l.cancelFor == "":
		e.EndedBy = l.endedBy
	case l.cancelFor == workflow.TimeoutHeartbeat:
		e.KilledBy, e.Silent = workflow.KilledByDrain, true
		e.Slurm = &workflow.SlurmEvidence{JobState: slurmCanceled, CanceledByUs: true, Reason: l.cancelFor.String()}
	default:
		e.KilledBy, e.Note = workflow.KilledByTimeout, l.cancelFor.String()
	}
}
