// Package allocation looks after the life of sbatch jobs: from the intent to
// ask for one, through what Slurm says of it, to why it ended and what that
// means for the jobs that ran in it.
package allocation

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Looks is what is known of an allocation beside its record. A look that is nil
// is no information: it was not made, it failed, or what it said was not
// understood.
type Looks struct {
	Queue      *QueueLook
	Accounting *AccountingLook
	Show       *ShowLook

	NoAccounting     bool          // the cluster keeps no accounts
	AccountingSilent time.Duration // for how long sacct has been asked in vain
	InFlight         bool          // sbatch runs for it at this moment

	Runners int           // of it, that have not left
	Silence time.Duration // since any of them was heard, as far as one could listen
	Longest time.Duration // since that of them was heard that is silent for longest
	Never   time.Duration // for how long Slurm has given reasons for which it never starts it
	Alone   time.Duration // for how long it has been running without a runner
	Left    bool          // its runners have all left: it ends in a moment
}

// QueueLook is an answer of squeue.
type QueueLook struct {
	At  time.Time
	Job *slurm.Job // nil: it does not know the allocation
}

// AccountingLook is an answer of sacct.
type AccountingLook struct {
	At    time.Time
	Lives []slurm.Record // of the Slurm job, oldest first; empty: it does not know it
}

// ShowLook is an answer of `scontrol show job`.
type ShowLook struct {
	At  time.Time
	Job *slurm.Job // nil: a healthy controller says that the id is invalid
}

// Verdict is what the looks say about an allocation.
type Verdict struct {
	// End is how it ended; nil as long as it may be there.
	End *workflow.AllocationEnd
	// Seen is to be stored, if it is not over.
	Seen store.Observation
	Text string // the verdict in one line that a person can read

	// What to ask next.
	AskAccounting bool
	AskShow       bool
	Soon          bool // look again soon: something is ending or not clear

	Stop       string // why its runners are to stop at once; empty: they need not
	Cancel     string // why it is to be canceled; empty: it need not
	Refused    bool   // it is canceled since Slurm can never start it
	SendCancel bool   // scancel is due
}

// Judge says what became of an allocation. What has ended has ended; nothing
// ends for lack of information, and absence is believed only after two looks
// through two sources.
func Judge(a workflow.Allocation, looks Looks, now time.Time, settings Settings) Verdict {
	j := judge{a: a, looks: looks, now: now, set: settings.withDefaults()}
	j.v.Seen = store.Observation{
		AllocationID: a.ID, State: a.State, SlurmState: a.SlurmState, SlurmReason: a.SlurmReason, NodeList: a.NodeList,
		AbsentMS: a.AbsentMS, OverMS: a.OverMS, RestartCount: a.RestartCount,
	}
	switch {
	case !a.IsLive():
		j.v.End = &workflow.AllocationEnd{Cause: a.Cause, Confidence: a.Confidence, Text: a.CauseText, EndMS: a.EndMS, Refusal: a.Refusal}
	case a.SupersededMS != 0:
		j.earlierLife()
	case a.SlurmJobID == 0:
		j.intent()
	default:
		j.job()
	}
	return j.v
}

// judge is a judgment under way.
type judge struct {
	a     workflow.Allocation
	looks Looks
	now   time.Time
	set   Settings
	v     Verdict
}

// since is how long ago a moment in ms was; 0 if it is not known.
func (j *judge) since(ms int64) time.Duration {
	if ms == 0 {
		return 0
	}
	return time.Duration(j.now.UnixMilli()-ms) * time.Millisecond
}

// intent judges what sbatch may have made. Jobs that bear its name have been
// adopted before: there is none here.
func (j *judge) intent() {
	j.v.Soon = true
	age := j.since(j.a.AskedMS)
	switch {
	case j.looks.InFlight:
		j.v.Text = "sbatch is running"
		return
	case j.looks.Queue == nil:
		j.v.Text = "nobody knows whether sbatch made a job"
		return
	}
	j.absent()
	j.v.Text = "squeue does not know of a job that sbatch may have made"
	asked := time.UnixMilli(j.a.AskedMS).Add(j.set.AskedFor)
	unheard := j.deaf() && j.since(j.v.Seen.AbsentMS) >= j.set.AbsentFor
	accounting := j.looks.Accounting
	switch {
	case age < j.set.AskedFor || j.looks.Queue.At.Before(asked):
	case accounting != nil && !accounting.At.Before(asked), unheard:
		j.end(workflow.AllocationEnd{Cause: workflow.AllocationNever, Confidence: workflow.Likely,
			Text: fmt.Sprintf("sbatch did not make it: %s after the call no job bears its name", age.Round(time.Second))})
	default:
		j.v.AskAccounting = !j.looks.NoAccounting
	}
}

// deaf reports whether accounting cannot be waited for.
func (j *judge) deaf() bool {
	return j.looks.NoAccounting || j.looks.AccountingSilent >= j.set.AccountingPatience
}

// absent notes that squeue does not know the allocation.
func (j *judge) absent() {
	if j.v.Seen.AbsentMS == 0 {
		j.v.Seen.AbsentMS = j.now.UnixMilli()
	}
	j.v.Soon = true
}

// job judges an allocation that is a Slurm job.
func (j *judge) job() {
	queue := j.looks.Queue
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

// present judges an allocation that Slurm knows.
func (j *judge) present(job *slurm.Job) {
	j.v.Seen.AbsentMS = 0
	if int64(job.Restarts) < j.a.RestartCount {
		j.v.Soon, j.v.Text = true, "Slurm still tells of an earlier life"
		return
	}
	j.note(job)
	switch state := job.State; {
	case int64(job.Restarts) > j.a.RestartCount && !j.a.IsDuplicate:
		j.requeued(job)
		j.v.AskAccounting, j.v.Soon = !j.looks.NoAccounting, true
		j.v.Text = "Slurm has requeued it"
	case state == slurm.Completing || state == slurm.StageOut:
		j.completing(job)
	case state.Over():
		j.over(job)
	default:
		j.v.Seen.OverMS = 0
		if j.a.Taken != nil {
			j.v.Seen.Taken = &workflow.SlurmEvidence{}
		}
		if why, is := job.Hastened(); is {
			j.v.Seen.Taken = &workflow.SlurmEvidence{JobState: string(slurm.Preempted), Reason: why, Inferred: true, RestartCount: job.Restarts}
		}
		if s := stateOf(state); s != "" {
			j.v.Seen.State = s
		}
		j.v.Text = describe(job)
		j.suspect(job)
		j.hopeless(job)
	}
}

// hopeless looks whether Slurm can ever start an allocation that waits. What it
// says of one that it has just taken may be the view of a moment.
func (j *judge) hopeless(job *slurm.Job) {
	if job.State == slurm.Pending && slurm.NeverStarts(job.Reason) && j.looks.Never >= j.set.NeverFor && j.a.CancelMS == 0 {
		j.v.Refused = true
		j.v.Cancel = fmt.Sprintf("Slurm can never start it: %s (%s)", slurm.ReasonText(job.Reason), job.Reason)
	}
}

// requeued takes over what Slurm says of the next life. It counts from the
// requeue on, while the nodes of the earlier one are still being left.
func (j *judge) requeued(job *slurm.Job) {
	seen := &j.v.Seen
	seen.RestartCount, seen.State, seen.OverMS = int64(job.Restarts), workflow.AllocationPending, 0
	if stateOf(job.State) == workflow.AllocationActive && !job.State.Ending() {
		seen.State = workflow.AllocationActive
		return
	}
	seen.NodeList, seen.StartMS, seen.LimitMS = "", 0, 0
}

// stateOf is the state of an allocation whose job is in a state that is not
// over; empty if we do not know what the state means.
func stateOf(s slurm.State) workflow.AllocationState {
	switch {
	case s.Pending(), s == slurm.Configuring, s == slurm.PowerUpNode:
		return workflow.AllocationPending
	case s.Active():
		return workflow.AllocationActive
	}
	return ""
}

// note takes over what Slurm says of a job.
func (j *judge) note(job *slurm.Job) {
	seen := &j.v.Seen
	seen.SlurmState, seen.SlurmReason, seen.NodeList = string(job.State), job.Reason, job.NodeList
	seen.SubmitMS = unixMilli(job.Submit)
	if stateOf(job.State) == workflow.AllocationActive {
		seen.StartMS, seen.LimitMS = unixMilli(job.Start), unixMilli(job.End)
	}
}

// unixMilli is a time in ms, 0 if it is not known.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// describe says how a job is.
func describe(job *slurm.Job) string {
	text := "Slurm says " + string(job.State)
	if job.Reason != "" {
		text += " (" + job.Reason + ")"
	}
	return text
}

// completing waits until the nodes have been left, not for ever.
func (j *judge) completing(job *slurm.Job) {
	j.v.Soon = true
	j.v.Text = describe(job)
	if j.a.State != workflow.AllocationActive {
		return // it is the life before that leaves its nodes
	}
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	waited := j.since(j.v.Seen.OverMS)
	if waited < j.set.CompletingFor {
		return
	}
	if record := j.life(); record != nil && record.Over() {
		j.finish(factsOfRecord(record))
		return
	}
	j.end(workflow.AllocationEnd{Cause: workflow.AllocationLost, Confidence: workflow.Likely,
		Text: fmt.Sprintf("its nodes have not confirmed its end for %s", waited.Round(time.Second))})
}

// suspect looks whether an allocation that Slurm runs has somebody in it.
func (j *judge) suspect(job *slurm.Job) {
	if job.State != slurm.Running || j.a.CancelMS != 0 {
		return
	}
	j.v.Soon = j.v.Soon || j.looks.Left
	switch {
	case j.looks.Runners > 0 && j.looks.Longest > j.set.Heartbeat:
		// One of several is enough: only Slurm can end what it may still run.
		j.v.Cancel = fmt.Sprintf("a runner of it has been silent for %s", j.looks.Longest.Round(time.Second))
	case j.looks.Runners > 0 && j.looks.Longest > j.set.Lease && j.looks.Longest < 3*j.set.Lease:
		j.v.Soon = true // Slurm may know more in a moment
	case j.looks.Runners == 0 && j.looks.Alone > j.set.NoRunner:
		j.v.Cancel = fmt.Sprintf("it has been running for %s without a runner", j.looks.Alone.Round(time.Second))
	}
}

// missing judges an allocation that squeue does not know.
func (j *judge) missing() {
	j.absent()
	j.v.Text = "squeue does not know it"
	gone := j.since(j.v.Seen.AbsentMS)
	if record := j.life(); record != nil && record.Over() {
		j.finish(factsOfRecord(record))
		return
	}
	if state := slurm.State(j.a.SlurmState); state.Over() { // seen before it was forgotten
		j.finish(facts{state: state, reason: j.a.SlurmReason, nodes: j.a.NodeList})
		return
	}
	if show := j.looks.Show; show != nil {
		j.shown(show, gone)
		return
	}
	accounting := j.looks.Accounting
	switch {
	case accounting != nil && len(accounting.Lives) == 0 && gone >= j.set.AbsentFor:
		j.vanished("neither squeue nor sacct knows it")
	case accounting != nil && len(accounting.Lives) > 0 && gone >= j.set.AccountingPatience, j.deaf():
		j.v.AskShow = gone >= j.set.AbsentFor
	}
	j.v.AskAccounting = accounting == nil && !j.looks.NoAccounting
}

// shown judges by `scontrol show job` what squeue does not know.
func (j *judge) shown(show *ShowLook, gone time.Duration) {
	switch {
	case show.Job != nil:
		j.present(show.Job)
	case gone >= j.set.AbsentFor:
		j.vanished("squeue does not know it, and to scontrol its id is invalid")
	}
}

// vanished ends what nobody knows any more.
func (j *judge) vanished(text string) {
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	if j.heard() && j.since(j.v.Seen.OverMS) < j.set.StopFor {
		j.v.Stop, j.v.Text = text, text+", but its runner lives"
		if j.a.CancelSentMS == 0 {
			j.v.Seen.Taken = &workflow.SlurmEvidence{JobState: string(slurm.Preempted), Reason: text, Inferred: true, RestartCount: int(j.a.RestartCount)}
		}
		return
	}
	if j.a.CancelSentMS != 0 {
		j.end(workflow.AllocationEnd{Cause: workflow.AllocationCanceled, Confidence: workflow.Likely, Text: "canceled: " + j.a.CancelWhy,
			Slurm: workflow.SlurmEvidence{JobState: string(slurm.Cancelled), Reason: j.a.CancelWhy, CanceledByUs: true}})
		return
	}
	if j.a.LimitMS != 0 && j.since(j.a.LimitMS) > 0 {
		text += "; its time was up"
	}
	j.end(workflow.AllocationEnd{Cause: workflow.AllocationLost, Confidence: workflow.Likely, Text: text})
}

// cancel sees to it that a cancellation is carried out.
func (j *judge) cancel() {
	if j.a.CancelMS == 0 || j.v.Seen.OverMS != 0 || j.v.Seen.AbsentMS != 0 {
		return
	}
	j.v.Soon = true
	j.v.SendCancel = j.a.CancelSentMS == 0 || j.since(j.a.CancelSentMS) >= j.set.cancelAgain(j.a.CancelTries)
}
