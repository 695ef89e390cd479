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

// How long a report waits for the accounting record that says why a step failed or why
// the allocation is being ended, and how often Slurm is polled for it. The accounting
// database lags by seconds. One call serves all waiting reports.
const (
	recordPatience = 8 * time.Second
	recordPause    = time.Second
	longestPause   = 15 * time.Second // while accounting fails; it may not be configured
	queuePause     = 10 * time.Second
	recordsSince   = 24 * time.Hour // before our own start; must be before the start of the allocation
	clockSlack     = 30 * time.Second
)

// slurmReasons holds the reports that wait for an accounting record.
type slurmReasons struct {
	runner *Runner

	waiting []heldReport // in the order of their ends
	polling bool
	pollAt  time.Time
	pause   time.Duration // until the next poll; 0 is recordPause
	// Of an allocation that is being ended: its record, once there is one, until when
	// reports wait for it, and how much time was left.
	allocation *slurm.Record
	until      time.Time
	timeLeft   time.Duration
	// nodesLost is why Slurm takes the nodes away, once that is known; queueAt is when
	// squeue may be polled for it again, if queueWanted. allocationOver says that Slurm
	// has ended the allocation: then only its record says why.
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
	queued  []slurm.Job // the allocation, if squeue was polled
	err     error
	// unaccounted says that sacct failed; accounting may not be configured.
	unaccounted bool
}

// holdReport keeps a report for which Slurm may have a reason. It returns false if the
// report is to be sent now.
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

// markDrained marks an interrupted attempt as drained by us if Slurm is ending the
// allocation: Slurm's signal was faster than ours.
func (w *slurmReasons) markDrained(e *workflow.Evidence, now time.Time) {
	if e.KilledBy == "" && now.Before(w.until) && failure.Interrupted(e) {
		e.KilledBy = workflow.KilledByDrain
		e.TimeLeftSeconds = int64(max(0, w.timeLeft) / time.Second)
	}
}

// poll polls Slurm for the records that reports wait for, and sends the reports that
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
	pollQueue := w.queueWanted && !now.Before(w.queueAt)
	if pollQueue {
		w.queueWanted, w.queueAt = false, now.Add(queuePause)
	}
	job, since := w.runner.opts.Steps, w.runner.began.Add(-recordsSince)
	w.runner.requests.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, steps.CallTime)
		defer cancel()
		var m slurmReasonsMsg
		if pollQueue {
			queue, err := job.Slurm.Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{job.Job}})
			m.queued, m.err = queue.Jobs, err
		}
		answer, err := job.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: []slurm.JobID{job.Job}, Since: since, Duplicates: true})
		m.records, m.err, m.unaccounted = answer.Records, errors.Join(m.err, err), err != nil
		w.runner.box.put(m)
	})
}

// nextPoll returns when poll is due, the zero time if never.
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

// nextPause returns the time until the next poll. It doubles with each one that
// accounting did not answer.
func nextPause(pause time.Duration, failed bool) time.Duration {
	if !failed {
		return recordPause
	}
	return min(2*max(pause, recordPause), longestPause)
}

// onAnswer adds what Slurm has reported to the waiting reports and sends them.
func (w *slurmReasons) onAnswer(m slurmReasonsMsg) {
	w.pause = nextPause(w.pause, m.unaccounted)
	w.polling, w.pollAt = false, time.Now().Add(w.pause)
	if m.err != nil && !errors.Is(m.err, context.Canceled) {
		w.runner.log.Warn("cannot get accounting records", "error", m.err)
	}
	w.noteNewEnd(m.queued)
	ended := make(map[string]*slurm.Record, len(m.records))
	for i := range m.records {
		switch rec := &m.records[i]; {
		case !rec.Over(), !rec.End.IsZero() && rec.End.Before(w.runner.began.Add(-clockSlack)): // or of before a restart
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
		drained := held.report.Evidence.KilledBy == workflow.KilledByDrain
		switch {
		case w.nodesLost != nil && failure.Interrupted(&held.report.Evidence):
			held.report.Evidence.Slurm = w.nodesLost
		case w.allocationOver && w.allocation == nil && failure.Interrupted(&held.report.Evidence):
			return false // its step says no more than canceled
		case drained && w.allocation != nil:
			steps.ExplainByJob(&held.report.Evidence, w.allocation)
		case !drained && step != nil:
			steps.ExplainByStep(&held.report.Evidence, step)
		default:
			return false
		}
		w.runner.work.deliver(held.attempt, held.report)
		return true
	})
}

// noteNewEnd takes over the new end of an allocation that is being preempted. Slurm
// announces it to steps by SIGTERM, and to other processes not at all. If the grace is
// short, the allocation may have ended before the poll.
func (w *slurmReasons) noteNewEnd(queued []slurm.Job) {
	for i := range queued {
		w.allocationOver = w.allocationOver || queued[i].State.Ending() || queued[i].State.Over()
		if why, is := queued[i].MovedForward(); is {
			w.nodesLost = failure.SlurmEnd(failure.Said{Preempting: why}).Evidence()
			w.runner.schedule = w.runner.policy.schedule(w.runner.began, queued[i].End)
		}
	}
}
