package allocation

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// saidOfRecord returns what an accounting record says about a job that is over.
func saidOfRecord(r *slurm.Record) failure.Said {
	return failure.Said{State: string(r.State), Reason: r.Reason, CanceledBy: r.CancelledBy, ExitCode: exitText(r.Exit), Start: r.Start, End: r.End, Limit: r.TimeLimit}
}

// saidOfJob returns what squeue says about a job that is over.
func saidOfJob(job *slurm.Job) failure.Said {
	return failure.Said{State: string(job.State), Reason: job.Reason, ExitCode: exitText(job.Exit), Start: job.Start, End: job.End, Limit: job.TimeLimit}
}

// sameStart is by how much squeue and sacct may differ about one start.
const sameStart = 2 * time.Second

// ownRecord returns the accounting record of this restart of the allocation: the one
// with its start time, else the one with its number; nil if there is none.
func (j *judge) ownRecord() *slurm.Record {
	if j.facts.Accounting == nil {
		return nil
	}
	restarts := j.facts.Accounting.Restarts
	if j.a.StartMS != 0 {
		for i := range restarts {
			if start := restarts[i].Start; !start.IsZero() && start.Sub(time.UnixMilli(j.a.StartMS)).Abs() <= sameStart {
				return &restarts[i]
			}
		}
	}
	if n := j.a.RestartCount; n < int64(len(restarts)) {
		return &restarts[n]
	}
	return nil
}

// over judges an allocation that squeue shows as ended.
func (j *judge) over(job *slurm.Job) {
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	if record := j.ownRecord(); record != nil && record.State == job.State {
		j.finish(saidOfRecord(record), record.NodeList)
		return
	}
	j.finish(saidOfJob(job), job.NodeList)
}

// earlierRestart judges a restart that Slurm has ended by a requeue: only the reason is
// open.
func (j *judge) earlierRestart() {
	j.v.Soon = true
	waited := j.since(j.a.SupersededMS)
	j.v.Seen.OverMS = j.a.SupersededMS
	if record := j.ownRecord(); record != nil && record.Over() {
		said := saidOfRecord(record)
		said.RequeuedByHand = true
		j.finish(said, record.NodeList)
		return
	}
	if j.facts.NoAccounting || waited >= j.set.CausePatience {
		j.finish(failure.Said{State: failure.Requeued}, j.a.NodeList)
		return
	}
	j.v.AskAccounting = true
	j.v.Text = "Slurm has requeued it; the reason is not known yet"
}

// finish ends the allocation as Slurm says, unless a runner in it is alive, a process
// may still be running, or it is not known yet who canceled it.
func (j *judge) finish(said failure.Said, nodes string) {
	j.v.Soon = true
	said.Foretold, said.Owner, said.Restarts = j.a.NodeLoss, j.set.Owner, int(j.a.RestartCount)
	said.OurCancel, said.OurReason = j.a.CancelSentMS != 0, j.a.CancelWhy
	end := failure.SlurmEnd(said)
	if j.v.Seen.OverMS == 0 {
		j.v.Seen.OverMS = j.now.UnixMilli()
	}
	waited := j.since(j.v.Seen.OverMS)
	asked := j.facts.Accounting != nil || j.facts.AccountingSilent > 0
	open := end.CanceledBySomebody() && !j.facts.NoAccounting && (waited < j.set.CausePatience || !asked)
	j.v.AskAccounting = open
	if !open {
		j.v.Seen.NodeLoss = end.Evidence()
	}
	switch {
	case j.outlived(end, said.End) && waited < j.set.StopFor:
		j.v.Stop = "Slurm says that its allocation is over: " + end.State()
		j.v.Text = j.v.Stop + ", but its runner is alive"
		return
	case open:
		j.v.Text = "canceled; it is not known yet by whom"
		return
	case j.mayStillRun(said.End):
		j.v.Text = "Slurm says " + end.State() + "; its processes may not have ended yet"
		return
	}
	e := compute.AllocationEnd{
		Cause: end.Cause, Confidence: end.Confidence, Text: endText(end, nodes),
		EndMS: unixMilli(said.End), NodeList: nodes, Slurm: *end.Evidence(),
	}
	if e.EndMS > j.now.UnixMilli() {
		e.EndMS = 0
	}
	j.end(e)
}

// outlived reports whether a runner continues in an allocation that is over: its node has
// lost contact with Slurm, but not with us.
func (j *judge) outlived(end failure.End, at time.Time) bool {
	if !j.runnerAlive() {
		return false
	}
	if end.Cause == compute.AllocationNodeFail {
		return true
	}
	return !at.IsZero() && j.now.Add(-j.facts.Silence).After(at.Add(j.killTime()))
}

// killTime is how long Slurm may take to end the processes of a job that is over.
func (j *judge) killTime() time.Duration {
	const slack = 10 * time.Second // clocks differ, and slurmd may be slow
	return j.set.KillWait + slack
}

// mayStillRun reports whether processes in an allocation that is over may still be between
// SIGTERM and SIGKILL. Accounting shows an allocation as over before that; squeue does
// so when Slurm has released its nodes.
func (j *judge) mayStillRun(end time.Time) bool {
	if j.facts.Runners == 0 || j.left() || j.since(j.v.Seen.OverMS) >= j.killTime() {
		return false
	}
	return end.IsZero() || j.now.Before(end.Add(j.killTime()))
}

// left reports whether squeue shows that the nodes of this restart were released.
func (j *judge) left() bool {
	if j.facts.Queue == nil || j.facts.Queue.Job == nil {
		return false
	}
	job := j.facts.Queue.Job
	if int64(job.Restarts) > j.a.RestartCount {
		return !job.State.Ending()
	}
	return int64(job.Restarts) == j.a.RestartCount && job.State.Over()
}

// runnerAlive reports whether one of its runners is alive.
func (j *judge) runnerAlive() bool { return j.facts.Runners > 0 && j.facts.Silence < j.set.Lease }

// endText returns the end in one line for people.
func endText(end failure.End, nodes string) string {
	e := end.Evidence()
	text := "Slurm says " + end.State()
	switch end.Cause {
	case compute.AllocationCanceled:
		text = "canceled: " + e.Reason
	case compute.AllocationCanceledUser, compute.AllocationCanceledAdmin:
		text = "canceled by " + whom(e.CanceledBy, e.Owner)
	case compute.AllocationRequeued:
		text = "Slurm requeued it"
	}
	switch {
	case end.Instead != "":
		text = fmt.Sprintf("Slurm says %s, but %s", end.Instead, e.Reason)
	case e.Inferred:
		text = "Slurm says " + e.Reason
	case e.Reason != "" && e.Reason != end.State() && end.Cause != compute.AllocationCanceled:
		text += " (" + e.Reason + ")"
	}
	if e.ExitCode != "" {
		text += ", exit " + e.ExitCode
	}
	if nodes != "" {
		text += ", on " + nodes
	}
	return text
}

// exitText returns an exit code as sacct writes it; empty for 0:0.
func exitText(e slurm.ExitCode) string {
	if e == (slurm.ExitCode{}) {
		return ""
	}
	return fmt.Sprintf("%d:%d", e.Code, e.Signal)
}

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

// end sets the verdict that the allocation is over.
func (j *judge) end(e compute.AllocationEnd) {
	j.v.End, j.v.Text = &e, e.Text
	j.v.Seen.State = compute.AllocationEnded
	j.v.AskAccounting, j.v.AskShow, j.v.Stop = false, false, ""
}
