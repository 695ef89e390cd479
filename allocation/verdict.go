// Package allocation follows sbatch jobs: from the intent to
// request one, through what Slurm says about it, to why it ended and what that
// means for the jobs that ran in it.
package allocation

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// Facts are what is known of an allocation besides its row. A nil answer means no
// information: there was no call, it failed, or its output was not understood.
type Facts struct {
	Queue      *QueueAnswer
	Accounting *AccountingAnswer
	Show       *ShowAnswer

	NoAccounting     bool          // the cluster has no accounting
	AccountingSilent time.Duration // for how long sacct has not answered
	InFlight         bool          // sbatch is running for it

	Runners        int           // of those that have not left
	Silence        time.Duration // since the last call of any of them, while the daemon was up
	LongestSilence time.Duration // since the last call of the runner that has been silent longest
	NeverStarts    time.Duration // for how long Slurm has said that it will never start
	WithoutRunner  time.Duration // for how long it has been running without a runner
	Left           bool          // all its runners have left: it is about to end
}

// QueueAnswer is an answer of squeue.
type QueueAnswer struct {
	At  time.Time
	Job *slurm.Job // nil: squeue does not know the allocation
}

// AccountingAnswer is an answer of sacct.
type AccountingAnswer struct {
	At       time.Time
	Restarts []slurm.Record // one per restart of the Slurm job, oldest first; empty: sacct does not know it
}

// ShowAnswer is an answer of `scontrol show job`.
type ShowAnswer struct {
	At  time.Time
	Job *slurm.Job // nil: a healthy controller says that the id is invalid
}

// Verdict is what follows from the facts about an allocation.
type Verdict struct {
	// End is how it ended; nil as long as it may exist.
	End *compute.AllocationEnd
	// Seen is to be stored, unless the allocation is over.
	Seen store.Observation
	Text string // the verdict in one line for people

	// What to call next.
	AskAccounting bool
	AskShow       bool
	Soon          bool // poll again soon: something is ending or unclear

	Stop       string // why its runners must stop at once; empty if they need not
	Cancel     string // why it is to be canceled; empty if it is not
	Refused    bool   // it is canceled because it will never start
	SendCancel bool   // scancel is due
}

// Judge returns the verdict on an allocation. An end is final. Nothing ends for lack
// of information, and absence counts only after two polls through two sources.
func Judge(a compute.Allocation, facts Facts, now time.Time, settings Settings) Verdict {
	j := judge{a: a, facts: facts, now: now, set: settings.withDefaults()}
	j.v.Seen = store.Observation{
		AllocationID: a.ID, State: a.State, SlurmState: a.SlurmState, SlurmReason: a.SlurmReason, NodeList: a.NodeList,
		AbsentMS: a.AbsentMS, OverMS: a.OverMS, RestartCount: a.RestartCount,
	}
	switch {
	case !a.IsLive():
		j.v.End = &compute.AllocationEnd{Cause: a.Cause, Confidence: a.Confidence, Text: a.CauseText, EndMS: a.EndMS, Refusal: a.Refusal}
	case a.SupersededMS != 0:
		j.earlierRestart()
	case a.SlurmJobID == 0:
		j.intent()
	default:
		j.job()
	}
	return j.v
}

// judge is the state of one call of Judge.
type judge struct {
	a     compute.Allocation
	facts Facts
	now   time.Time
	set   Settings
	v     Verdict
}

// since returns how long ago a moment in ms was; 0 if it is not known.
func (j *judge) since(ms int64) time.Duration {
	if ms == 0 {
		return 0
	}
	return time.Duration(j.now.UnixMilli()-ms) * time.Millisecond
}

// intent judges an intent whose sbatch may have created a job. Jobs with its name have
// been adopted before, so there is none in these answers.
func (j *judge) intent() {
	j.v.Soon = true
	age := j.since(j.a.AskedMS)
	switch {
	case j.facts.InFlight:
		j.v.Text = "sbatch is running"
		return
	case j.facts.Queue == nil:
		j.v.Text = "it is not known whether sbatch created a job"
		return
	}
	j.absent()
	j.v.Text = "squeue does not list a job that sbatch may have created"
	asked := time.UnixMilli(j.a.AskedMS).Add(j.set.AskedFor)
	unanswered := j.accountingUnavailable() && j.since(j.v.Seen.AbsentMS) >= j.set.AbsentFor
	accounting := j.facts.Accounting
	switch {
	case age < j.set.AskedFor || j.facts.Queue.At.Before(asked):
	case accounting != nil && !accounting.At.Before(asked), unanswered:
		j.end(compute.AllocationEnd{Cause: compute.AllocationNever, Confidence: workflow.Likely,
			Text: fmt.Sprintf("sbatch created no job: %s after the call there is none with its name", age.Round(time.Second))})
	default:
		j.v.AskAccounting = !j.facts.NoAccounting
	}
}

// accountingUnavailable reports whether there is no accounting, or it has not answered for too long.
func (j *judge) accountingUnavailable() bool {
	return j.facts.NoAccounting || j.facts.AccountingSilent >= j.set.AccountingPatience
}

// absent records that squeue does not know the allocation.
func (j *judge) absent() {
	if j.v.Seen.AbsentMS == 0 {
		j.v.Seen.AbsentMS = j.now.UnixMilli()
	}
	j.v.Soon = true
}

// job judges an allocation that is a Slurm job.
func (j *judge) job() {
	queue := j.facts.Queue
	switch {
	case queue != nil && queue.Job != nil:
		j.present(queue.Job)
	case queue != nil:
		j.missing()
	default:
		j.v.Soon = j.a.CancelMS != 0 || j.a.AbsentMS != 0 || j.a.OverMS != 0
		j.v.Text = "Slurm gives no information"
	}
	if j.v.End == nil {
		j.cancel()
	}
}

// present judges an allocation that squeue or scontrol knows.
func (j *judge) present(job *slurm.Job) {
	j.v.Seen.AbsentMS = 0
	if int64(job.Restarts) < j.a.RestartCount {
		j.v.Soon, j.v.Text = true, "Slurm still shows an earlier restart"
		return
	}
	j.note(job)
	switch state := job.State; {
	case int64(job.Restarts) > j.a.RestartCount && !j.a.IsDuplicate:
		j.requeued(job)
		j.v.AskAccounting, j.v.Soon = !j.facts.NoAccounting, true
		j.v.Text = "Slurm has requeued it"
	case state == slurm.Completing || state == slurm.StageOut:
		j.completing(job)
	case state.Over():
		j.over(job)
	default:
		j.v.Seen.OverMS = 0
		if j.a.NodeLoss != nil {
			j.v.Seen.NodeLoss = &workflow.SlurmEvidence{}
		}
		if why, is := job.MovedForward(); is {
			j.v.Seen.NodeLoss = failure.SlurmEnd(failure.Said{Preempting: why, Restarts: job.Restarts}).Evidence()
		}
		if s := stateOf(state); s != "" {
			j.v.Seen.State = s
		}
		j.v.Text = describe(job)
		j.checkRunners(job)
		j.neverStarts(job)
	}
}

// neverStarts cancels a pending allocation that will never start. Slurm must have said so
// for some time, since the reason of a new job may be temporary.
func (j *judge) neverStarts(job *slurm.Job) {
	if job.State == slurm.Pending && slurm.NeverStarts(job.Reason) && j.facts.NeverStarts >= j.set.NeverFor && j.a.CancelMS == 0 {
		j.v.Refused = true
		j.v.Cancel = fmt.Sprintf("Slurm never starts it: %s (%s)", slurm.ReasonText(job.Reason), job.Reason)
	}
}

// requeued stores what Slurm says about the next restart. That begins with the
// requeue, while the earlier one may still be completing.
func (j *judge) requeued(job *slurm.Job) {
	seen := &j.v.Seen
	seen.RestartCount, seen.State, seen.OverMS = int64(job.Restarts), compute.AllocationPending, 0
	if stateOf(job.State) == compute.AllocationActive && !job.State.Ending() {
		seen.State = compute.AllocationActive
		return
	}
	seen.NodeList, seen.StartMS, seen.LimitMS = "", 0, 0
}

// stateOf returns the state of an allocation whose job is in a state that is not
// over; empty if the state is unknown.
func stateOf(s slurm.State) compute.AllocationState {
	switch {
	case s.Pending(), s == slurm.Configuring, s == slurm.PowerUpNode:
		return compute.AllocationPending
	case s.Active():
		return compute.AllocationActive
	}
	return ""
}

// note records what Slurm says about a job.
func (j *judge) note(job *slurm.Job) {
	seen := &j.v.Seen
	seen.SlurmState, seen.SlurmReason, seen.NodeList = string(job.State), job.Reason, job.NodeList
	seen.SubmitMS = unixMilli(job.Submit)
	if stateOf(job.State) == compute.AllocationActive {
		seen.StartMS, seen.LimitMS = unixMilli(job.Start), unixMilli(job.End)
	}
}

// unixMilli returns a time in ms; 0 if it is not known.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// describe returns the state of a job in words.
func describe(job *slurm.Job) string {
	text := "Slurm says " + string(job.State)
	if job.Reason != "" {
		text += " (" + job.Reason + ")"
	}
	return text
}

// completing waits until Slurm has released the nodes, for a limited time.
func (j *judge) completing(job *slurm.Job) {
	j.v.Soon = true
	j.v.Text = describe(job)
	if j.a.State != compute.AllocationActive {
		return // it is the previous restart that is completing
	}
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	waited := j.since(j.v.Seen.OverMS)
	if waited < j.set.CompletingFor {
		return
	}
	if record := j.ownRecord(); record != nil && record.Over() {
		j.finish(saidOfRecord(record), record.NodeList)
		return
	}
	j.end(compute.AllocationEnd{Cause: compute.AllocationLost, Confidence: workflow.Likely,
		Text: fmt.Sprintf("Slurm has shown it as completing for %s", waited.Round(time.Second))})
}

// checkRunners cancels an allocation that Slurm runs without a runner, or with a silent
// one.
func (j *judge) checkRunners(job *slurm.Job) {
	if job.State != slurm.Running || j.a.CancelMS != 0 {
		return
	}
	j.v.Soon = j.v.Soon || j.facts.Left
	switch {
	case j.facts.Runners > 0 && j.facts.LongestSilence > j.set.Heartbeat:
		// One of several is enough: only Slurm can end jobs that it may still be running.
		j.v.Cancel = fmt.Sprintf("one of its runners has been silent for %s", j.facts.LongestSilence.Round(time.Second))
	case j.facts.Runners > 0 && j.facts.LongestSilence > j.set.Lease && j.facts.LongestSilence < 3*j.set.Lease:
		j.v.Soon = true // Slurm may know more in a moment
	case j.facts.Runners == 0 && j.facts.WithoutRunner > j.set.NoRunner:
		j.v.Cancel = fmt.Sprintf("it has been running for %s without a runner", j.facts.WithoutRunner.Round(time.Second))
	}
}

// missing judges an allocation that squeue does not know.
func (j *judge) missing() {
	j.absent()
	j.v.Text = "squeue does not know it"
	gone := j.since(j.v.Seen.AbsentMS)
	if record := j.ownRecord(); record != nil && record.Over() {
		j.finish(saidOfRecord(record), record.NodeList)
		return
	}
	if state := slurm.State(j.a.SlurmState); state.Over() { // observed before Slurm forgot it
		j.finish(failure.Said{State: string(state), Reason: j.a.SlurmReason}, j.a.NodeList)
		return
	}
	if show := j.facts.Show; show != nil {
		j.shown(show, gone)
		return
	}
	accounting := j.facts.Accounting
	switch {
	case accounting != nil && len(accounting.Restarts) == 0 && gone >= j.set.AbsentFor:
		j.vanished("neither squeue nor sacct knows it")
	case accounting != nil && len(accounting.Restarts) > 0 && gone >= j.set.AccountingPatience, j.accountingUnavailable():
		j.v.AskShow = gone >= j.set.AbsentFor
	}
	j.v.AskAccounting = accounting == nil && !j.facts.NoAccounting
}

// shown judges an allocation that squeue does not know by `scontrol show job`.
func (j *judge) shown(show *ShowAnswer, gone time.Duration) {
	switch {
	case show.Job != nil:
		j.present(show.Job)
	case gone >= j.set.AbsentFor:
		j.vanished("squeue does not know it, and scontrol says that its id is invalid")
	}
}

// vanished ends an allocation that Slurm no longer knows.
func (j *judge) vanished(text string) {
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	if j.runnerAlive() && j.since(j.v.Seen.OverMS) < j.set.StopFor {
		j.v.Stop, j.v.Text = text, text+", but its runner is alive"
		if j.a.CancelSentMS == 0 {
			j.v.Seen.NodeLoss = failure.SlurmEnd(failure.Said{Preempting: text, Restarts: int(j.a.RestartCount)}).Evidence()
		}
		return
	}
	if j.a.CancelSentMS != 0 {
		j.end(compute.AllocationEnd{Cause: compute.AllocationCanceled, Confidence: workflow.Likely, Text: "canceled: " + j.a.CancelWhy,
			Slurm: *failure.CanceledByUs(j.a.CancelWhy)})
		return
	}
	if j.a.LimitMS != 0 && j.since(j.a.LimitMS) > 0 {
		text += "; its time limit had passed"
	}
	j.end(compute.AllocationEnd{Cause: compute.AllocationLost, Confidence: workflow.Likely, Text: text})
}

// cancel decides when scancel is due.
func (j *judge) cancel() {
	if j.a.CancelMS == 0 || j.v.Seen.OverMS != 0 || j.v.Seen.AbsentMS != 0 {
		return
	}
	j.v.Soon = true
	j.v.SendCancel = j.a.CancelSentMS == 0 || j.since(j.a.CancelSentMS) >= j.set.cancelAgain(j.a.CancelTries)
}
