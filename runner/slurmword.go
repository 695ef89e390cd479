package runner

import (
	"cmp"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// How long a report waits for Slurm's word on why a step failed, or why the
// allocation is being ended, and how often Slurm is asked for it: its accounting
// database lags by seconds. One call asks for all that wait.
const (
	wordPatience = 8 * time.Second
	wordPause    = time.Second
	longestPause = 15 * time.Second // while accounting fails: there may be none
	queuePause   = 10 * time.Second
	wordCallTime = 5 * time.Second
	wordsSince   = 24 * time.Hour // before our own start; any time before the start of the allocation will do
	clockSlack   = 30 * time.Second
)

// slurmWords are the reports that wait for Slurm's word.
type slurmWords struct {
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
	report  api.Report
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
func (r *Runner) holdBack(a *attempt, report *api.Report) bool {
	e := &report.Evidence
	w := &r.words
	now := time.Now()
	until := now.Add(wordPatience)
	w.yielded(e, now)
	if e.KilledBy == workflow.KilledByDrain {
		e.TimeLeftSeconds = int64(max(0, w.left) / time.Second)
	}
	switch {
	case e.SpawnError != "" || e.Slurm != nil:
		return false
	case w.taken != nil && e.Interrupted():
		e.Slurm = w.taken
		return false
	case e.KilledBy == workflow.KilledByDrain && now.Before(w.until):
		if w.whole != nil {
			explainByJob(e, w.whole)
			return false
		}
		until = w.until
	case r.steps == nil || e.KilledBy != "" || r.leaving.kind >= StopCancel || e.ExitCode != nil && *e.ExitCode == 0:
		return false
	}
	w.wondering = w.wondering || e.KilledBy == "" && e.Interrupted()
	w.waiting = append(w.waiting, heldReport{a, *report, until})
	w.askAt = maxTime(w.askAt, now.Add(wordPause/2))
	return true
}

// yielded takes an attempt that somebody ended while we leave, as Slurm has told us
// without a warning, for one that we have ended for that: Slurm was faster.
func (w *slurmWords) yielded(e *workflow.Evidence, now time.Time) {
	if e.KilledBy == "" && now.Before(w.until) && e.Interrupted() {
		e.KilledBy = workflow.KilledByDrain
		e.TimeLeftSeconds = int64(max(0, w.left) / time.Second)
	}
}

// askSlurm asks for the words that are waited for, and sends the reports that
// have waited long enough.
func (r *Runner) askSlurm(ctx context.Context, now time.Time) {
	w := &r.words
	w.waiting = slices.DeleteFunc(w.waiting, func(held heldReport) bool {
		late := !now.Before(held.until)
		if late {
			r.deliver(held.attempt, held.report)
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
	steps, since := r.opts.Steps, r.began.Add(-wordsSince)
	r.requests.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, wordCallTime)
		defer cancel()
		var m slurmWordsMsg
		if askQueue {
			queue, err := steps.Slurm.Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{steps.Job}})
			m.queued, m.err = queue.Jobs, err
		}
		look, err := steps.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: []slurm.JobID{steps.Job}, Since: since, Duplicates: true})
		m.records, m.err, m.unaccounted = look.Records, errors.Join(m.err, err), err != nil
		r.box.put(m)
	})
}

// nextWord is when askSlurm has something to do, the zero time if never.
func (r *Runner) nextWord(now time.Time) time.Time {
	w := &r.words
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

// onSlurmWords takes in what Slurm knows.
func (r *Runner) onSlurmWords(m slurmWordsMsg) {
	w := &r.words
	w.pause = nextPause(w.pause, m.unaccounted)
	w.asking, w.askAt = false, time.Now().Add(w.pause)
	if m.err != nil && !errors.Is(m.err, context.Canceled) {
		r.log.Warn("Slurm does not say how jobs ended", "error", m.err)
	}
	r.hasten(m.queued)
	ended := make(map[string]*slurm.Record, len(m.records))
	for i := range m.records {
		switch rec := &m.records[i]; {
		case !rec.Over(), !rec.End.IsZero() && rec.End.Before(r.began.Add(-clockSlack)): // or of an earlier life
		case rec.IsStep():
			ended[rec.Name] = rec
		default:
			w.whole = rec
		}
	}
	if w.whole != nil && (w.whole.State == slurm.Preempted || w.whole.State == slurm.NodeFail) {
		w.taken = cmp.Or(w.taken, &workflow.SlurmEvidence{JobState: string(w.whole.State), Reason: w.whole.Reason})
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(held heldReport) bool {
		step := ended[stepName(r.opts.WorkflowID, r.about.RunID, &held.attempt.grant)]
		taken := held.report.Evidence.KilledBy == workflow.KilledByDrain
		switch {
		case w.taken != nil && held.report.Evidence.Interrupted():
			held.report.Evidence.Slurm = w.taken
		case w.over && w.whole == nil && held.report.Evidence.Interrupted():
			return false // its step was canceled, as all are that end so
		case taken && w.whole != nil:
			explainByJob(&held.report.Evidence, w.whole)
		case !taken && step != nil:
			explainByStep(&held.report.Evidence, step)
		default:
			return false
		}
		r.deliver(held.attempt, held.report)
		return true
	})
}

// hasten takes in that Slurm has moved the end of the allocation forward. It
// tells steps so by SIGTERM, and others not at all. Where its grace is short, it
// may be over before we have asked.
func (r *Runner) hasten(queued []slurm.Job) {
	for i := range queued {
		r.words.over = r.words.over || queued[i].State.Ending() || queued[i].State.Over()
		if why, is := queued[i].Hastened(); is {
			r.words.taken = &workflow.SlurmEvidence{JobState: string(slurm.Preempted), Reason: why, Inferred: true}
			r.schedule = r.policy.schedule(r.began, queued[i].End)
		}
	}
}

// explainByStep adds what Slurm says of the step of an attempt.
func explainByStep(e *workflow.Evidence, rec *slurm.Record) {
	e.PeakMemoryBytes = max(e.PeakMemoryBytes, rec.MaxRSS)
	e.CPUSeconds = max(e.CPUSeconds, rec.CPUTime.Seconds())
	if rec.State == slurm.Cancelled && rec.CancelledBy == "" {
		return // so Slurm calls a step that died by a signal of its own
	}
	e.Slurm = &workflow.SlurmEvidence{
		StepState: string(rec.State), ExitCode: rec.Exit.String(), CanceledBy: rec.CancelledBy, Owner: strconv.Itoa(os.Getuid()),
	}
	if rec.State == slurm.OutOfMemory {
		atTheLimit(e)
	}
}

// explainByJob adds what Slurm says of the allocation that an attempt was
// running in when it was ended.
func explainByJob(e *workflow.Evidence, rec *slurm.Record) {
	e.Slurm = &workflow.SlurmEvidence{
		JobState: string(rec.State), ExitCode: rec.Exit.String(), Reason: rec.Reason, CanceledBy: rec.CancelledBy, Owner: strconv.Itoa(os.Getuid()),
	}
	if why, is := slurm.CutShort(rec.State, rec.Start, rec.End, rec.TimeLimit); is {
		e.Slurm.JobState, e.Slurm.Reason, e.Slurm.Inferred = string(slurm.Preempted), why, true
	}
}

// srunFailed is the exit code of srun when it is not that of its command.
const srunFailed = 1

// atTheLimit notes that a step that ran out of memory has used all that it had:
// what Slurm measured is the last sample before, which may be much less.
func atTheLimit(e *workflow.Evidence) {
	e.PeakMemoryBytes = max(e.PeakMemoryBytes, e.MemoryLimitBytes)
	dropSrunCode(e)
}

// dropSrunCode removes an exit code that is srun's own: the command was killed.
func dropSrunCode(e *workflow.Evidence) {
	if e.ExitCode != nil && *e.ExitCode == srunFailed {
		e.ExitCode = nil
	}
}

// What srun and the step daemon write to the error output of a step.
var (
	stepOutOfMemory = regexp.MustCompile(`(?m)^slurmstepd(?:-\S+)?: error: .*(?i:oom[-_]kill|out of memory)|^srun: error: .*: Out Of Memory`)
	stepAbandoned   = regexp.MustCompile(`(?m)^srun: error: Timed out waiting for job step to complete`)
	stepNotStarted  = regexp.MustCompile(`(?m)^srun: (?:error|fatal): (.*(?:Unable to create step|Unable to confirm allocation|Unable to contact slurm controller|Communication connection failure|Task launch .*failed).*)$`)
)

// addStepWords takes in what srun said of a step. Its word that memory ran out
// needs no confirmation; a step that it could not start is not the command's
// fault.
func (f *findings) addStepWords(e *workflow.Evidence) {
	said := tail(f.files.stderr, tailSize)
	if stepOutOfMemory.MatchString(said) {
		e.Slurm = &workflow.SlurmEvidence{StepState: string(slurm.OutOfMemory), Reason: "as srun says"}
		atTheLimit(e)
		return
	}
	if stepAbandoned.MatchString(said) { // and exit code 0
		e.ExitCode, e.Signal = nil, int(unix.SIGKILL)
	}
	if e.ExitCode == nil || f.killed != "" {
		return
	}
	if refusal, refused := slurm.RefusedStep(said); refused && *e.ExitCode == slurm.SrunErrorCode {
		e.ExitCode, e.SpawnError = nil, refusal.Text
	} else if m := stepNotStarted.FindStringSubmatch(said); m != nil && (*e.ExitCode == srunFailed || *e.ExitCode == slurm.SrunErrorCode) {
		e.ExitCode, e.SpawnError = nil, m[1]
	}
}
