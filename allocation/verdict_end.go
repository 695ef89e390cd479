package allocation

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// facts are what Slurm says of a job that is over.
type facts struct {
	state      slurm.State
	reason     string
	canceledBy string // uid; empty if nobody says
	exit       slurm.ExitCode
	end        time.Time
	nodes      string
	cutShort   bool        // what Slurm calls something else was a preemption
	said       slurm.State // what Slurm calls it, if state does not say so
}

func factsOfRecord(r *slurm.Record) facts {
	f := facts{state: r.State, reason: r.Reason, canceledBy: r.CancelledBy, exit: r.Exit, end: r.End, nodes: r.NodeList}
	f.correct(r.Start, r.TimeLimit)
	return f
}

func factsOfJob(job *slurm.Job) facts {
	f := facts{state: job.State, reason: job.Reason, exit: job.Exit, end: job.End, nodes: job.NodeList}
	f.correct(job.Start, job.TimeLimit)
	return f
}

// correct calls a preemption by its name.
func (f *facts) correct(start time.Time, limit time.Duration) {
	if why, is := slurm.CutShort(f.state, start, f.end, limit); is {
		f.state, f.cutShort, f.reason = slurm.Preempted, true, why
	}
}

// foretold calls a preemption by its name that was known before the end: a job
// that leaves before its grace time is over has succeeded or failed for Slurm.
func (f *facts) foretold(taken *workflow.SlurmEvidence) {
	if taken == nil || taken.JobState != string(slurm.Preempted) || f.state != slurm.Completed && f.state != slurm.Failed {
		return
	}
	f.said, f.state, f.cutShort, f.reason = f.state, slurm.Preempted, true, taken.Reason
}

// sameStart is how far two accounts of one start may be apart.
const sameStart = 2 * time.Second

// life finds accounting's record of this life of the allocation: the one that
// started with it, else by its number.
func (j *judge) life() *slurm.Record {
	if j.looks.Accounting == nil {
		return nil
	}
	lives := j.looks.Accounting.Lives
	if j.a.StartMS != 0 {
		for i := range lives {
			if start := lives[i].Start; !start.IsZero() && start.Sub(time.UnixMilli(j.a.StartMS)).Abs() <= sameStart {
				return &lives[i]
			}
		}
	}
	if n := j.a.RestartCount; n < int64(len(lives)) {
		return &lives[n]
	}
	return nil
}

// over judges an allocation that has ended, in Slurm's own words.
func (j *judge) over(job *slurm.Job) {
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	f := factsOfJob(job)
	if record := j.life(); record != nil && record.State == job.State {
		f = factsOfRecord(record)
	}
	j.finish(f)
}

// earlierLife judges a life that Slurm has ended by a requeue: only why it did
// is open.
func (j *judge) earlierLife() {
	j.v.Soon = true
	waited := j.since(j.a.SupersededMS)
	j.v.Seen.OverMS = j.a.SupersededMS
	if record := j.life(); record != nil && record.Over() {
		f := factsOfRecord(record)
		if f.state == slurm.Cancelled || f.state == slurm.Completed {
			f.state = slurm.Requeued // somebody requeued it by hand
		}
		j.finish(f)
		return
	}
	if j.looks.NoAccounting || waited >= j.set.CausePatience {
		j.finish(facts{state: slurm.Requeued, nodes: j.a.NodeList})
		return
	}
	j.v.AskAccounting = true
	j.v.Text = "Slurm has requeued it; why is not known yet"
}

// finish ends the allocation by what Slurm says, unless somebody still lives in
// it, or may, or it is not known yet who canceled it.
func (j *judge) finish(f facts) {
	j.v.Soon = true
	f.foretold(j.a.Taken)
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	waited := j.since(j.v.Seen.OverMS)
	asked := j.looks.Accounting != nil || j.looks.AccountingSilent > 0
	open := j.whoCanceled(&f) && !j.looks.NoAccounting && (waited < j.set.CausePatience || !asked)
	j.v.AskAccounting = open
	if !open {
		e := j.evidence(&f)
		j.v.Seen.Taken = &e
	}
	switch {
	case j.lives(&f) && waited < j.set.StopFor:
		j.v.Stop = "Slurm says that its allocation is over: " + string(f.state)
		j.v.Text = j.v.Stop + ", but its runner lives"
		return
	case open:
		j.v.Text = "canceled, it is not known yet by whom"
		return
	case j.dying(&f):
		j.v.Text = "Slurm says " + string(f.state) + "; what runs in it may not have ended yet"
		return
	}
	end := workflow.AllocationEnd{EndMS: unixMilli(f.end), NodeList: f.nodes, Slurm: j.evidence(&f)}
	end.Cause, end.Confidence = j.cause(&f)
	end.Text = j.text(&f, end.Cause)
	if end.EndMS > j.now.UnixMilli() {
		end.EndMS = 0
	}
	j.end(end)
}

// lives reports whether a runner goes on in an allocation that is over: its
// node lost touch with Slurm, not with us.
func (j *judge) lives(f *facts) bool {
	if !j.heard() {
		return false
	}
	switch f.state {
	case slurm.NodeFail, slurm.BootFail:
		return true
	}
	return !f.end.IsZero() && j.now.Add(-j.looks.Silence).After(f.end.Add(j.killTime()))
}

// killTime is how long Slurm may take to end what it has called over.
func (j *judge) killTime() time.Duration {
	const slack = 10 * time.Second // clocks differ, and slurmd may be slow
	return j.set.KillWait + slack
}

// dying reports whether what runs in an allocation that is over may still have
// its time between SIGTERM and SIGKILL. Accounting calls an allocation over
// before that; the queue does so when its nodes have been left.
func (j *judge) dying(f *facts) bool {
	if j.looks.Runners == 0 || j.left() || j.since(j.v.Seen.OverMS) >= j.killTime() {
		return false
	}
	return f.end.IsZero() || j.now.Before(f.end.Add(j.killTime()))
}

// left reports whether the queue says that the nodes of this life were left.
func (j *judge) left() bool {
	if j.looks.Queue == nil || j.looks.Queue.Job == nil {
		return false
	}
	job := j.looks.Queue.Job
	if int64(job.Restarts) > j.a.RestartCount {
		return !job.State.Ending()
	}
	return int64(job.Restarts) == j.a.RestartCount && job.State.Over()
}

// heard reports whether a runner of it lives.
func (j *judge) heard() bool { return j.looks.Runners > 0 && j.looks.Silence < j.set.Lease }

// ours reports whether our own scancel ended it.
func (j *judge) ours(f *facts) bool { return f.state == slurm.Cancelled && j.a.CancelSentMS != 0 }

// whoCanceled reports whether it is open who canceled it.
func (j *judge) whoCanceled(f *facts) bool {
	return f.state == slurm.Cancelled && f.canceledBy == "" && !j.ours(f)
}

func (j *judge) evidence(f *facts) workflow.SlurmEvidence {
	e := workflow.SlurmEvidence{
		JobState: string(f.state), Reason: f.reason, CanceledBy: f.canceledBy, Owner: j.set.Owner,
		CanceledByUs: j.ours(f), Inferred: f.cutShort, RestartCount: int(j.a.RestartCount),
	}
	if e.CanceledByUs {
		e.Reason = j.a.CancelWhy
	}
	if f.exit != (slurm.ExitCode{}) {
		e.ExitCode = exitText(f.exit)
	}
	return e
}

// cause names the end.
func (j *judge) cause(f *facts) (workflow.AllocationCause, workflow.Confidence) {
	switch f.state {
	case slurm.Completed:
		return workflow.AllocationDone, workflow.Certain
	case slurm.Failed, slurm.LaunchFailed, slurm.ReconfigFail:
		return workflow.AllocationFailed, workflow.Certain
	case slurm.OutOfMemory:
		return workflow.AllocationOOM, workflow.Certain
	case slurm.Timeout, slurm.Deadline:
		return workflow.AllocationWalltime, workflow.Certain
	case slurm.NodeFail, slurm.BootFail:
		return workflow.AllocationNodeFail, workflow.Certain
	case slurm.Preempted:
		if f.cutShort {
			return workflow.AllocationPreempted, workflow.Likely
		}
		return workflow.AllocationPreempted, workflow.Certain
	case slurm.Requeued:
		return workflow.AllocationRequeued, workflow.Likely
	case slurm.Cancelled:
		return j.canceler(f)
	}
	return workflow.AllocationLost, workflow.Likely
}

// canceler tells our own scancel, the owner's and somebody else's apart.
func (j *judge) canceler(f *facts) (workflow.AllocationCause, workflow.Confidence) {
	switch {
	case j.ours(f):
		return workflow.AllocationCanceled, workflow.Certain
	case f.canceledBy == "":
		return workflow.AllocationCanceledUser, workflow.Guess
	case f.canceledBy == j.set.Owner:
		return workflow.AllocationCanceledUser, workflow.Certain
	}
	return workflow.AllocationCanceledAdmin, workflow.Certain
}

// text is the end in one line.
func (j *judge) text(f *facts, cause workflow.AllocationCause) string {
	text := "Slurm says " + string(f.state)
	switch cause {
	case workflow.AllocationCanceled:
		text = "canceled: " + j.a.CancelWhy
	case workflow.AllocationCanceledUser, workflow.AllocationCanceledAdmin:
		text = "canceled by " + whom(f.canceledBy, j.set.Owner)
	case workflow.AllocationRequeued:
		text = "Slurm put it back into its queue"
	}
	switch {
	case f.said != "":
		text = fmt.Sprintf("Slurm says %s, but %s", f.said, f.reason)
	case f.cutShort:
		text = "Slurm says " + f.reason
	case f.reason != "" && f.reason != string(f.state) && cause != workflow.AllocationCanceled:
		text += " (" + f.reason + ")"
	}
	if f.exit != (slurm.ExitCode{}) {
		text += ", exit " + exitText(f.exit)
	}
	if f.nodes != "" {
		text += ", on " + f.nodes
	}
	return text
}

// exitText writes an exit code as sacct does.
func exitText(e slurm.ExitCode) string { return fmt.Sprintf("%d:%d", e.Code, e.Signal) }

func whom(uid, owner string) string {
	switch uid {
	case "":
		return "somebody"
	case owner:
		return "its owner"
	case "0":
		return "root"
	}
	return fmt.Sprintf("user %s", uid)
}

// end is the verdict that it is over.
func (j *judge) end(e workflow.AllocationEnd) {
	j.v.End, j.v.Text = &e, e.Text
	j.v.Seen.State = workflow.AllocationEnded
	j.v.AskAccounting, j.v.AskShow, j.v.Stop = false, false, ""
}
