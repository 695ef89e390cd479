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
	wordPatience = 8 * time.Second
	wordPause    = time.Second
	longestPause = 15 * time.Second // while accounting fails: there may be none
	queuePause   = 10 * time.Second
	wordsSince   = 24 * time.Hour // before our own start; any time before the start of the allocation will do
	clockSlack   = 30 * time.Second
)

// slurmWords are the reports that wait for Slurm's word.
type slurmWords struct {
	runner *Runner

	waiting []heldReport // in the order of their ends
	asking  bool
	askAt   time.Time
	pause   time.Duration // until the next question; 0 is wordPause
	// Of the allocation that is being ended: why, once that is known, until when
	// it matters, and how much time was left.
	whole *slurm.Record
	until time.Time
	left  time.Duration
	// taken is why Slurm is going to take the allocation, once that is known;
	// queueAt is when its queue may be asked for it again, if wondering. Over says
	// that Slurm has ended it already: then why is a matter of its record.
	taken     *workflow.SlurmEvidence
	wondering bool
	over      bool
	queueAt   time.Time
}

type heldReport struct {
	attempt *attempt
	report  lease.Report
	until   time.Time
}

// slurmWordsMsg is what Slurm knows of the allocation and its steps.
type slurmWordsMsg struct {
	records []slurm.Record
	queued  []slurm.Job // the allocation, if that was asked for
	err     error
	// unaccounted says that accounting, which may not be there, did not answer.
	unaccounted bool
}

// holdBack keeps a report for which Slurm's word may matter; false if it is to
// be sent now.
func (w *slurmWords) holdBack(a *attempt, report *lease.Report) bool {
	e := &report.Evidence
	now := time.Now()
	until := now.Add(wordPatience)
	w.yielded(e, now)
	if e.KilledBy == workflow.KilledByDrain {
		e.TimeLeftSeconds = int64(max(0, w.left) / time.Second)
	}
	switch {
	case e.SpawnError != "" || e.Slurm != nil:
		return false
	case w.taken != nil && failure.Interrupted(e):
		e.Slurm = w.taken
		return false
	case e.KilledBy == workflow.KilledByDrain && now.Before(w.until):
		if w.whole != nil {
			steps.ExplainByJob(e, w.whole)
			return false
		}
		until = w.until
	case w.runner.steps == nil || e.KilledBy != "" || w.runner.leaving.kind >= StopCancel || e.ExitCode != nil && *e.ExitCode == 0:
		return false
	}
	w.wondering = w.wondering || e.KilledBy == "" && failure.Interrupted(e)
	w.waiting = append(w.waiting, heldReport{a, *report, until})
	w.askAt = maxTime(w.askAt, now.Add(wordPause/2))
	return true
}

// yielded takes an attempt that somebody ended while we leave, as Slurm has told us
// without a warning, for one that we have ended for that: Slurm was faster.
func (w *slurmWords) yielded(e *workflow.Evidence, now time.Time) {
	if e.KilledBy == "" && now.Before(w.until) && failure.Interrupted(e) {
		e.KilledBy = workflow.KilledByDrain
		e.TimeLeftSeconds = int64(max(0, w.left) / time.Second)
	}
}

// ask asks for the words that are waited for, and sends the reports that
// have waited long enough.
func (w *slurmWords) ask(ctx context.Context, now time.Time) {
	w.waiting = slices.DeleteFunc(w.waiting, func(held heldReport) bool {
		late := !now.Before(held.until)
		if late {
			w.runner.work.deliver(held.attempt, held.report)
		}
		return late
	})
	wanted := len(w.waiting) > 0 || w.whole == nil && now.Before(w.until)
	if !wanted || w.asking || now.Before(w.askAt) {
		return
	}
	w.asking = true
	askQueue := w.wondering && !now.Before(w.queueAt)
	if askQueue {
		w.wondering, w.queueAt = false, now.Add(queuePause)
	}
	job, since := w.runner.opts.Steps, w.runner.began.Add(-wordsSince)
	w.runner.requests.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, steps.CallTime)
		defer cancel()
		var m slurmWordsMsg
		if askQueue {
			queue, err := job.Slurm.Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{job.Job}})
			m.queued, m.err = queue.Jobs, err
		}
		look, err := job.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: []slurm.JobID{job.Job}, Since: since, Duplicates: true})
		m.records, m.err, m.unaccounted = look.Records, errors.Join(m.err, err), err != nil
		w.runner.box.put(m)
	})
}

// nextWord is when ask has something to do, the zero time if never.
func (w *slurmWords) nextWord(now time.Time) time.Time {
	var next time.Time
	if !w.asking && (len(w.waiting) > 0 || w.whole == nil && now.Before(w.until)) {
		next = w.askAt
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
		return wordPause
	}
	return min(2*max(pause, wordPause), longestPause)
}

// told takes in what Slurm knows.
func (w *slurmWords) told(m slurmWordsMsg) {
	w.pause = nextPause(w.pause, m.unaccounted)
	w.asking, w.askAt = false, time.Now().Add(w.pause)
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
			w.whole = rec
		}
	}
	if w.whole != nil {
		if end := failure.SlurmEnd(failure.Said{State: string(w.whole.State), Reason: w.whole.Reason}); end.NodesGone() {
			w.taken = cmp.Or(w.taken, end.Evidence())
		}
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(held heldReport) bool {
		step := ended[steps.Name(w.runner.opts.WorkflowID, w.runner.about.RunID, &held.attempt.grant)]
		taken := held.report.Evidence.KilledBy == workflow.KilledByDrain
		switch {
		case w.taken != nil && failure.Interrupted(&held.report.Evidence):
			held.report.Evidence.Slurm = w.taken
		case w.over && w.whole == nil && failure.Interrupted(&held.report.Evidence):
			return false // its step was canceled, as all are that end so
		case taken && w.whole != nil:
			steps.ExplainByJob(&held.report.Evidence, w.whole)
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
func (w *slurmWords) noteNewEnd(queued []slurm.Job) {
	for i := range queued {
		w.over = w.over || queued[i].State.Ending() || queued[i].State.Over()
		if why, is := queued[i].MovedForward(); is {
			w.taken = failure.SlurmEnd(failure.Said{Preempting: why}).Evidence()
			w.runner.schedule = w.runner.policy.schedule(w.runner.began, queued[i].End)
		}
	}
}
