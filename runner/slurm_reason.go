package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// How long a report waits for Slurm's word on why a step failed, or why the
// allocation is being ended, and how often Slurm is asked for it: its accounting
// database lags by seconds. One call asks for all that wait.
const (
	recordPatience = 8 * time.Second
	recordPause    = time.Second
	longestPause   = 15 * time.Second // while accounting fails: there may be none
	queuePause     = 10 * time.Second
	recordsSince   = 24 * time.Hour // before our own start; any time before the start of the allocation will do
	clockSlack     = 30 * time.Second
)

// slurmReasons are the reports that wait for Slurm's word.
type slurmReasons struct {
	runner *Runner

	waiting []heldReport // in the order of their ends
	polling bool
	pollAt  time.Time
	pause   time.Duration // until the next question; 0 is wordPause
	// Of the allocation that is being ended: why, once that is known, until when
	// it matters, and how much time was left.
	allocation *slurm.Record
	until      time.Time
	timeLeft   time.Duration
	// nodesLost is why Slurm is going to take the allocation, once that is known;
	// queueAt is when its queue may be asked for it again, if wondering. Over says
	// that Slurm has ended it already: then why is a matter of its record.
	nodesLost      *workflow.SlurmEvidence
	queueWanted    bool
	allocationOver bool
	queueAt        time.Time
}

type heldReport struct {
	attempt *attempt
	report  lease.Report
	until   time.Time
}

// slurmReasonsMsg is what Slurm knows of the allocation and its steps.
type slurmReasonsMsg struct {
	records []slurm.Record
	queued  []slurm.Job // the allocation, if that was asked for
	err     error
	// unaccounted says that accounting, which may not be there, did not answer.
	unaccounted bool
}

// holdReport keeps a report for which Slurm's word may matter; false if it is to
// be sent now.
func (w *slurmReasons) holdReport(a *attempt, report *lease.Report) bool {
	e := &report.Evidence
	now := time.Now()
	until := now.Add(recordPatience)
	w.markDrained(e, now)
	if e.KilledBy == workflow.KilledByDrain {
		e.TimeLeftSeconds = int64(max(0, w.timeLeft) / time.Second)
	}
	switch {
	case e.SpawnError != "" || e.Slurm != nil:
		return false
	case w.nodesLost != nil && failure.Interrupted(e):
		e.Slurm = w.nodesLost
		return false
	case e.KilledBy == workflow.KilledByDrain && now.Before(w.until):
		if w.allocation != nil {
			steps.ExplainByJob(e, w.allocation)
			return false
		}
		until = w.until
	case w.runner.steps == nil || e.KilledBy != "" || w.runner.leaving.kind >= StopCancel || e.ExitCode != nil && *e.ExitCode == 0:
		return false
	}
	w.queueWanted = w.queueWanted || e.KilledBy == "" && failure.Interrupted(e)
	w.waiting = append(w.waiting, heldReport{a, *report, until})
	w.pollAt = maxTime(w.pollAt, now.Add(recordPause/2))
	return true
}

// markDrained takes an attempt that somebody ended while we leave, as Slurm has told us
// without a warning, for one that we have ended for that: Slurm was faster.
func (w *slurmReasons) markDrained(e *workflow.Evidence, now time.Time) {
	if e.KilledBy == "" && now.Before(w.until) && failure.Interrupted(e) {
		e.KilledBy = workflow.KilledByDrain
		e.TimeLeftSeconds = int64(max(0, w.timeLeft) / time.Second)
	}
}

// poll asks for the words that are waited for, and sends the reports that
// have waited long enough.
func (w *slurmReasons) poll(ctx context.Context, now time.Time) {
	w.waiting = slices.DeleteFunc(w.waiting, func(held heldReport) bool {
		late := !now.Before(held.until)
		if late {
			w.runner.work.deliver(held.attempt, held.report)
		}
		return late
	})
	wanted := len(w.waiting) > 0 || w.allocation == nil && now.Before(w.until)
	if !wanted || w.polling || now.Before(w.pollAt) {
		return
	}
	w.polling = true
	askQueue := w.queueWanted && !now.Before(w.queueAt)
	if askQueue {
		w.queueWanted, w.queueAt = false, now.Add(queuePause)
	}
	job, since := w.runner.opts.Steps, w.runner.began.Add(-recordsSince)
	w.runner.requests.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, steps.CallTime)
		defer cancel()
		var m slurmReasonsMsg
		if askQueue {
			queue, err := job.Slurm.Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{job.Job}})
			m.queued, m.err = queue.Jobs, err
		}
		look, err := job.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: []slurm.JobID{job.Job}, Since: since, Duplicates: true})
		m.records, m.err, m.unaccounted = look.Records, errors.Join(m.err, err), err != nil
		w.runner.box.put(m)
	})
}

// nextPoll is when ask has something to do, the zero time if never.
func (w *slurmReasons) nextPoll(now time.Time) time.Time {
	var next time.Time
	if !w.polling && (len(w.waiting) > 0 || w.allocation == nil && now.Before(w.until)) {
		next = w.pollAt
	}
	for _, held := range w.waiting {
		if next.IsZero() || held.until.Before(next) {
			next = held.until
		}
	}
	return next
}

// nextPause is the time until the next question, twice as long after each one
// that accounting did not answer: also from one step to the next.
func nextPause(pause time.Duration, failed bool) time.Duration {
	if !failed {
		return recordPause
	}
	return min(2*max(pause, recordPause), longestPause)
}

// onAnswer takes in what Slurm knows.
func (w *slurmReasons) onAnswer(m slurmReasonsMsg) {
	w.pause = nextPause(w.pause, m.unaccounted)
	w.polling, w.pollAt = false, time.Now().Add(w.pause)
	if m.err != nil && !errors.Is(m.err, context.Canceled) {
		w.runner.log.Warn("Slurm does not say how jobs ended", "error", m.err)
	}
	w.noteNewEnd(m.queued)
	ended := make(map[string]*slurm.Record, len(m.records))
	for i := range m.records {
		switch rec := &m.records[i]; {
		case !rec.Over(), !rec.End.IsZero() && rec.End.Before(w.runner.began.Add(-clockSlack)): // or of an earlier life
		case rec.IsStep():
			ended[rec.Name] = rec
		default:
			w.allocation = rec
		}
	}
	if w.allocation != nil {
		if end := failure.SlurmEnd(failure.Said{State: string(w.allocation.State), Reason: w.allocation.Reason}); end.NodesGone() {
			w.nodesLost = cmp.Or(w.nodesLost, end.Evidence())
		}
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(held heldReport) bool {
		step := ended[steps.Name(w.runner.opts.WorkflowID, w.runner.about.RunID, &held.attempt.grant)]
		taken := held.report.Evidence.KilledBy == workflow.KilledByDrain
		switch {
		case w.nodesLost != nil && failure.Interrupted(&held.report.Evidence):
			held.report.Evidence.Slurm = w.nodesLost
		case w.allocationOver && w.allocation == nil && failure.Interrupted(&held.report.Evidence):
			return false // its step was canceled, as all are that end so
		case taken && w.allocation != nil:
			steps.ExplainByJob(&held.report.Evidence, w.allocation)
		case !taken && step != nil:
			steps.ExplainByStep(&held.report.Evidence, step)
		default:
			return false
		}
		w.runner.work.deliver(held.attempt, held.report)
		return true
	})
}

// noteNewEnd takes in that Slurm has moved the end of the allocation forward. It
// tells steps so by SIGTERM, and others not at all. Where its grace is short, it
// may be over before we have asked.
func (w *slurmReasons) noteNewEnd(queued []slurm.Job) {
	for i := range queued {
		w.allocationOver = w.allocationOver || queued[i].State.Ending() || queued[i].State.Over()
		if why, is := queued[i].MovedForward(); is {
			w.nodesLost = failure.SlurmEnd(failure.Said{Preempting: why}).Evidence()
			w.runner.schedule = w.runner.policy.schedule(w.runner.began, queued[i].End)
		}
	}
}
