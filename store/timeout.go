package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// expireChunk limits the jobs that one use case ends.
const expireChunk = 1000

// Expire applies expired timeouts, once per job. It returns how many jobs it ended or is
// ending; with the policy alert, none. The explanation says why one of them waits.
func (s Timeouts) Expire(_ context.Context, o view.Overdue, explanation string) (n int64, err error) {
	for chunk := int64(expireChunk); chunk == expireChunk; n += chunk {
		err := s.shared.Do("expire jobs", func(tx *core.Tx) (err error) {
			chunk, err = expireJobs(tx, &o, explanation)
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func expireJobs(tx *core.Tx, o *view.Overdue, explanation string) (n int64, err error) {
	r, err := core.LoadRun(tx, o.WorkflowID)
	if err != nil || r.Canceled || r.Ended {
		return 0, err
	}
	began := tx.NowMS - o.Limit.Duration().Milliseconds()
	if o.Limit.Policy == workflow.OnTimeoutAlert {
		return 0, tellExpired(tx, r, o, began, explanation)
	}
	rows, err := tx.Query(`SELECT `+core.LeaseColumns+` FROM job WHERE `+view.OverdueJobs[o.Timeout]+` ORDER BY id LIMIT ?3`, o.PolicyID, began, expireChunk)
	if err != nil {
		return 0, fmt.Errorf("find jobs of workflow %d with an expired %s: %w", r.WorkflowID, o.Timeout, err)
	}
	jobs, err := sqlite.Collect(rows, core.ScanLease)
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	e := expiry{tx: tx, f: engine.NewFinisher(tx, r), o: o}
	for i := range jobs {
		if err := e.end(&jobs[i]); err != nil {
			return 0, fmt.Errorf("%s of job %d: %w", o.Timeout, jobs[i].JobID, err)
		}
	}
	if _, err := e.f.Flush(); err != nil {
		return 0, err
	}
	return int64(len(jobs)), nil
}

// tellExpired raises one alert for all jobs with the expired timeout.
func tellExpired(tx *core.Tx, r *view.Run, o *view.Overdue, began int64, explanation string) error {
	where := view.OverdueJobs[o.Timeout]
	names, err := sqlite.Select(tx, sqlite.ScanString, `SELECT name FROM job WHERE `+where+` ORDER BY id LIMIT ?3`, o.PolicyID, began, view.Few)
	if err != nil {
		return fmt.Errorf("name jobs of workflow %d with an expired %s: %w", r.WorkflowID, o.Timeout, err)
	}
	n, err := tx.Exec(`UPDATE job SET told = told | ?3 WHERE `+where, o.PolicyID, began, o.Timeout.Bit())
	if err != nil || n == 0 {
		return err
	}
	a := o.Limit.Alert(o.Timeout, names, n)
	if a.Text = strings.TrimSpace(a.Text + "\n" + explanation); n == 1 {
		a.JobID, a.JobName = o.Example, names[0]
	}
	return core.RaiseAlert(tx, r, a)
}

// expiry ends jobs with an expired timeout.
type expiry struct {
	tx *core.Tx
	f  *engine.Finisher
	o  *view.Overdue
}

// end ends a job, or orders its runner to.
func (e *expiry) end(l *core.LeasedJob) error {
	reason := e.o.Limit.Reason(e.o.Timeout)
	if l.Status != workflow.Ready && l.Status != workflow.PendingFailed {
		return e.order(l)
	}
	codes, err := e.f.Run.ReturnCodes()
	if err != nil {
		return err
	}
	g := e.f.NewFacts(l)
	g.Failure.Cause = e.o.Limit.ExpiredCause(e.o.Timeout, codes)
	g.Expired = &retry.ExpiredJob{Timeout: e.o.Timeout, Limit: e.o.Limit}
	o := retry.Decide(g.Facts)
	e.f.AbortFor(l, o.Abort)
	if l.Status == workflow.Ready {
		return e.endWaiting(l, g.Failure.Cause, &o)
	}
	w := hold.Classification{Status: workflow.Failed, Author: e.o.Timeout.String(), Reason: reason, Confidence: workflow.Certain}
	_, err = classifyJob(e.tx, l.JobID, w, false)
	return err
}

// endWaiting records the end of an unclaimed job, as an attempt without a process.
func (e *expiry) endWaiting(l *core.LeasedJob, cause workflow.Cause, o *retry.Outcome) error {
	if err := nextAttemptNumber(e.tx, l, e.f.Run, 0); err != nil { // it may have run before in this run
		return err
	}
	if err := e.f.Record(l, &engine.Ending{Cause: cause, EndMS: e.tx.NowMS, NoResult: true}, &o.Decision); err != nil {
		return err
	}
	e.f.Changes = append(e.f.Changes, engine.Change{Job: l.JobID, Op: workflow.OpExpire, From: l.Status, To: o.Status})
	l.Status = o.Status
	return e.f.AnnounceStatus(l, cause, o.Reason)
}

// order makes the runner of a job end it, with the grace period. A runner of torc cannot be
// told; its job continues.
func (e *expiry) order(l *core.LeasedJob) error {
	err := e.tx.ExecOne(`UPDATE job SET cancel_fence = fence, cancel_for = ?2, ended_by = NULL, told = told | ?3 WHERE id = ?1 AND status IN {live}`,
		l.JobID, string(e.o.Timeout), e.o.Timeout.Bit())
	if err != nil {
		return err
	}
	if l.RunnerID.Valid {
		e.tx.Changes.Runners = core.AppendNew(e.tx.Changes.Runners, []int64{l.RunnerID.Int64})
	}
	e.f.Changed = true
	return nil
}
