package allocation

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

var now = time.UnixMilli(1_795_255_200_000)

// ago returns a time before now in ms.
func ago(d time.Duration) int64 { return now.Add(-d).UnixMilli() }

// record returns a pending or active allocation of Slurm job 17.
func record(state compute.AllocationState, change ...func(*compute.Allocation)) compute.Allocation {
	a := compute.Allocation{ID: 1, IntentID: "0123456789abcdef", JobName: "torc:w.1.r1.01234567", SlurmJobID: 17, State: state, AskedMS: ago(time.Hour)}
	if state == compute.AllocationActive {
		a.StartMS, a.LimitMS, a.SlurmState = ago(30*time.Minute), ago(-30*time.Minute), "RUNNING"
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

// queued returns an answer of squeue that has the job in a state.
func queued(state slurm.State, change ...func(*slurm.Job)) *QueueAnswer {
	job := slurm.Job{ID: slurm.JobID{Number: 17}, State: state}
	for _, c := range change {
		c(&job)
	}
	return &QueueAnswer{At: now, Job: &job}
}

// restarts returns an answer of sacct with restarts in these states.
func restarts(records ...slurm.Record) *AccountingAnswer {
	return &AccountingAnswer{At: now, Restarts: records}
}

func in(state slurm.State) slurm.Record { return slurm.Record{State: state} }

func canceledBy(uid string) slurm.Record {
	return slurm.Record{State: slurm.Cancelled, CancelledBy: uid}
}

// dead returns a record of a restart that ended so long ago; if it was canceled, by root.
func dead(state slurm.State, ago time.Duration) slurm.Record {
	r := slurm.Record{State: state, End: now.Add(-ago)}
	if state == slurm.Cancelled {
		r.CancelledBy = "0"
	}
	return r
}

func nextLife(j *slurm.Job) { j.Restarts = 1 }

// endsIn has a job with a limit of an hour that began two minutes ago end earlier.
func endsIn(d time.Duration) func(*slurm.Job) {
	return func(j *slurm.Job) { j.Start, j.End, j.TimeLimit = now.Add(-2*time.Minute), now.Add(d), time.Hour }
}

var (
	active  = compute.AllocationActive
	pending = compute.AllocationPending
	nobody  = &QueueAnswer{At: now}
)

func absentFor(d time.Duration) func(*compute.Allocation) {
	return func(a *compute.Allocation) { a.AbsentMS = ago(d) }
}

func overFor(d time.Duration) func(*compute.Allocation) {
	return func(a *compute.Allocation) { a.OverMS = ago(d) }
}

func canceling(sent time.Duration, tries int64) func(*compute.Allocation) {
	return func(a *compute.Allocation) {
		a.CancelMS, a.CancelWhy, a.CancelTries = ago(time.Hour), "no work is left", tries
		if tries > 0 {
			a.CancelSentMS = ago(sent)
		}
	}
}

func superseded(d time.Duration) func(*compute.Allocation) {
	return func(a *compute.Allocation) { a.SupersededMS = ago(d) }
}

func taken(a *compute.Allocation) {
	a.NodeLoss = &workflow.SlurmEvidence{JobState: "PREEMPTED", Reason: "its end was moved", Inferred: true}
}

func intent(d time.Duration) func(*compute.Allocation) {
	return func(a *compute.Allocation) { a.SlurmJobID, a.AskedMS = 0, ago(d) }
}

// want is the expected verdict; of an end, its cause and confidence.
type want struct {
	cause      compute.AllocationCause
	confidence workflow.Confidence
	jobState   slurm.State // of the evidence

	state      compute.AllocationState
	accounting bool // sacct must be called
	show       bool // scontrol must be called
	soon       bool
	stop       bool
	cancel     bool
	send       bool
	restarts   int64
	taken      slurm.State // why Slurm takes its nodes
	text       string      // part of it
}

// notTaken says that Slurm does not take the nodes after all.
const notTaken slurm.State = "not taken"

func (w want) compare(t *testing.T, v Verdict) {
	t.Helper()
	got := want{
		accounting: v.AskAccounting, show: v.AskShow, stop: v.Stop != "", cancel: v.Cancel != "", send: v.SendCancel, restarts: v.Seen.RestartCount,
		soon: v.Soon, state: v.Seen.State, text: w.text,
	}
	if v.End == nil && v.Seen.NodeLoss != nil {
		got.taken = cmp.Or(slurm.State(v.Seen.NodeLoss.JobState), notTaken)
	}
	if v.End != nil {
		got.cause, got.confidence, got.jobState = v.End.Cause, v.End.Confidence, slurm.State(v.End.Slurm.JobState)
		got.soon, w.soon, got.state = false, false, ""
	}
	if got != w {
		t.Errorf("got  %+v\nwant %+v\n%s", got, w, v.Text)
	}
	if !strings.Contains(v.Text, w.text) || v.Text == "" {
		t.Errorf("it says %q, want %q in it", v.Text, w.text)
	}
}

func TestJudge(t *testing.T) {
	certain, likely, guess := workflow.Certain, workflow.Likely, workflow.Guess
	ended := func(cause compute.AllocationCause, c workflow.Confidence, state slurm.State, text string) want {
		return want{cause: cause, confidence: c, jobState: state, text: text}
	}
	for _, tc := range []struct {
		name  string
		a     compute.Allocation
		facts Facts
		want  want
	}{
		// It exists.
		{"waits", record(pending), Facts{Queue: queued(slurm.Pending, func(j *slurm.Job) { j.Reason = "Priority" })}, want{state: pending, text: "PENDING (Priority)"}},
		{"boots", record(pending), Facts{Queue: queued(slurm.Configuring)}, want{state: pending, text: "CONFIGURING"}},
		{"runs", record(pending), Facts{Queue: queued(slurm.Running)}, want{state: active, text: "RUNNING"}},
		{"suspended is not gone", record(active), Facts{Queue: queued(slurm.Suspended), Runners: 1, LongestSilence: time.Hour}, want{state: active, text: "SUSPENDED"}},
		{"runs on another cluster", record(pending), Facts{Queue: queued(slurm.Revoked)}, want{state: active, text: "REVOKED"}},
		{"an unknown state", record(active), Facts{Queue: queued("PONDERING")}, want{state: active, text: "PONDERING"}},
		{"found again", record(active, absentFor(time.Hour)), Facts{Queue: queued(slurm.Running)}, want{state: active, text: "RUNNING"}},
		{"no information", record(active), Facts{}, want{state: active, text: "no information"}},
		{"no information, for long", record(active, absentFor(time.Hour)), Facts{AccountingSilent: time.Hour}, want{state: active, soon: true, text: "no information"}},

		// It is over, as Slurm reports.
		{"done", record(active), Facts{Queue: queued(slurm.Completed)}, ended(compute.AllocationDone, certain, slurm.Completed, "COMPLETED")},
		{"failed", record(active), Facts{Queue: queued(slurm.Failed, func(j *slurm.Job) { j.Exit.Code = 3; j.Reason = "NonZeroExitCode" })},
			ended(compute.AllocationFailed, certain, slurm.Failed, "FAILED (NonZeroExitCode), exit 3:0")},
		{"out of memory", record(active), Facts{Queue: queued(slurm.OutOfMemory)}, ended(compute.AllocationOOM, certain, slurm.OutOfMemory, "OUT_OF_MEMORY")},
		{"out of time", record(active), Facts{Queue: queued(slurm.Timeout)}, ended(compute.AllocationWalltime, certain, slurm.Timeout, "TIMEOUT")},
		{"preempted with a grace time", record(active), Facts{Queue: queued(slurm.Timeout, func(j *slurm.Job) {
			j.Start, j.End, j.TimeLimit = now.Add(-2*time.Minute), now.Add(-time.Minute), 10*time.Minute
		})}, ended(compute.AllocationPreempted, likely, slurm.Preempted, "TIMEOUT with 9m0s of its time limit left")},
		{"deadline", record(active), Facts{Queue: queued(slurm.Deadline)}, ended(compute.AllocationWalltime, certain, slurm.Deadline, "DEADLINE")},
		{"node failed", record(active), Facts{Queue: queued(slurm.NodeFail, func(j *slurm.Job) { j.NodeList = "n[1-2]" })},
			ended(compute.AllocationNodeFail, certain, slurm.NodeFail, "NODE_FAIL, on n[1-2]")},
		{"did not boot", record(pending), Facts{Queue: queued(slurm.BootFail)}, ended(compute.AllocationNodeFail, certain, slurm.BootFail, "BOOT_FAIL")},
		{"preempted", record(active), Facts{Queue: queued(slurm.Preempted)}, ended(compute.AllocationPreempted, certain, slurm.Preempted, "PREEMPTED")},
		{"known only to sacct", record(active), Facts{Queue: nobody, Accounting: restarts(in(slurm.Timeout))}, ended(compute.AllocationWalltime, certain, slurm.Timeout, "TIMEOUT")},

		// Canceled by whom?
		{"canceled, by whom is not known yet", record(active), Facts{Queue: queued(slurm.Cancelled)}, want{state: active, accounting: true, soon: true, text: "by whom"}},
		{"canceled by its owner", record(active), Facts{Queue: queued(slurm.Cancelled), Accounting: restarts(canceledBy("1000"))},
			ended(compute.AllocationCanceledUser, certain, slurm.Cancelled, "by its owner")},
		{"canceled by root", record(active), Facts{Queue: queued(slurm.Cancelled), Accounting: restarts(canceledBy("0"))},
			ended(compute.AllocationCanceledAdmin, certain, slurm.Cancelled, "by root")},
		{"canceled, nobody says by whom", record(active, overFor(2*time.Minute)), Facts{Queue: queued(slurm.Cancelled), AccountingSilent: time.Hour},
			ended(compute.AllocationCanceledUser, guess, slurm.Cancelled, "by somebody")},
		{"canceled, without accounting", record(active), Facts{Queue: queued(slurm.Cancelled), NoAccounting: true},
			ended(compute.AllocationCanceledUser, guess, slurm.Cancelled, "by somebody")},
		{"canceled by us", record(active, canceling(time.Minute, 1)), Facts{Queue: queued(slurm.Cancelled)},
			ended(compute.AllocationCanceled, certain, slurm.Cancelled, "canceled: no work is left")},
		{"canceled by somebody before we did", record(pending, canceling(0, 0)), Facts{Queue: queued(slurm.Cancelled), Accounting: restarts(canceledBy("0"))},
			ended(compute.AllocationCanceledAdmin, certain, slurm.Cancelled, "by root")},
		{"out of time before our scancel worked", record(active, canceling(time.Minute, 1)), Facts{Queue: queued(slurm.Timeout)},
			ended(compute.AllocationWalltime, certain, slurm.Timeout, "TIMEOUT")},

		// Our scancel.
		{"cancel is due", record(active, canceling(0, 0)), Facts{Queue: queued(slurm.Running)}, want{state: active, send: true, soon: true}},
		{"cancel is due, whatever squeue says", record(active, canceling(0, 0)), Facts{}, want{state: active, send: true, soon: true}},
		{"cancel was just sent", record(active, canceling(10*time.Second, 1)), Facts{Queue: queued(slurm.Running)}, want{state: active, soon: true}},
		{"cancel had no effect", record(active, canceling(31*time.Second, 1)), Facts{Queue: queued(slurm.Running)}, want{state: active, send: true, soon: true}},
		{"cancel had no effect twice", record(active, canceling(31*time.Second, 2)), Facts{Queue: queued(slurm.Running)}, want{state: active, soon: true}},
		{"cancel works", record(active, canceling(time.Hour, 1)), Facts{Queue: queued(slurm.Completing)}, want{state: active, soon: true}},

		// It is completing.
		{"completing", record(active), Facts{Queue: queued(slurm.Completing)}, want{state: active, soon: true, text: "COMPLETING"}},
		{"completing for long", record(active, overFor(11*time.Minute)), Facts{Queue: queued(slurm.Completing)}, ended(compute.AllocationLost, likely, "", "shown it as completing for 11m")},
		{"completing for long, with an accounting record", record(active, overFor(11*time.Minute)), Facts{Queue: queued(slurm.Completing), Accounting: restarts(in(slurm.Timeout))},
			ended(compute.AllocationWalltime, certain, slurm.Timeout, "TIMEOUT")},

		// Absent.
		{"absent once", record(active), Facts{Queue: nobody}, want{state: active, accounting: true, soon: true, text: "squeue does not know it"}},
		{"absent once, in both", record(active), Facts{Queue: nobody, Accounting: restarts()}, want{state: active, soon: true}},
		{"absent for a minute, sacct was not called", record(active, absentFor(time.Minute)), Facts{Queue: nobody}, want{state: active, accounting: true, soon: true}},
		{"absent for a minute, in both", record(active, absentFor(time.Minute)), Facts{Queue: nobody, Accounting: restarts()}, ended(compute.AllocationLost, likely, "", "neither squeue nor sacct")},
		{"absent, but sacct has it running", record(active, absentFor(2*time.Minute)), Facts{Queue: nobody, Accounting: restarts(in(slurm.Running))}, want{state: active, soon: true}},
		{"absent, sacct is out of date", record(active, absentFor(5*time.Minute)), Facts{Queue: nobody, Accounting: restarts(in(slurm.Running))}, want{state: active, show: true, soon: true}},
		{"absent, sacct was silent for a while", record(active, absentFor(2*time.Minute)), Facts{Queue: nobody, AccountingSilent: time.Minute}, want{state: active, accounting: true, soon: true}},
		{"absent, sacct was silent for long", record(active, absentFor(time.Minute)), Facts{Queue: nobody, AccountingSilent: 5 * time.Minute}, want{state: active, accounting: true, show: true, soon: true}},
		{"absent, without accounting", record(active, absentFor(time.Minute)), Facts{Queue: nobody, NoAccounting: true}, want{state: active, show: true, soon: true}},
		{"absent, and its id is invalid", record(active, absentFor(time.Minute)), Facts{Queue: nobody, NoAccounting: true, Show: &ShowAnswer{At: now}},
			ended(compute.AllocationLost, likely, "", "its id is invalid")},
		{"absent, but scontrol has it", record(active, absentFor(time.Hour)), Facts{Queue: nobody, NoAccounting: true, Show: &ShowAnswer{At: now, Job: queued(slurm.Running).Job}},
			want{state: active, soon: true, text: "RUNNING"}},
		{"absent, and ended according to scontrol", record(active, absentFor(time.Hour)), Facts{Queue: nobody, NoAccounting: true, Show: &ShowAnswer{At: now, Job: queued(slurm.NodeFail).Job}},
			ended(compute.AllocationNodeFail, certain, slurm.NodeFail, "NODE_FAIL")},
		{"absent, and was observed to be over", record(active, overFor(time.Minute), absentFor(time.Second), func(a *compute.Allocation) { a.SlurmState = "CANCELLED" }),
			Facts{Queue: nobody, AccountingSilent: time.Second}, ended(compute.AllocationCanceledUser, guess, slurm.Cancelled, "by somebody")},
		{"absent, was observed to be over, and sacct was not called", record(active, overFor(time.Hour), absentFor(time.Second), func(a *compute.Allocation) { a.SlurmState = "CANCELLED" }),
			Facts{Queue: nobody}, want{state: active, accounting: true, soon: true, text: "by whom"}},
		{"absent after our scancel", record(active, absentFor(time.Minute), canceling(2*time.Minute, 1)), Facts{Queue: nobody, Accounting: restarts()},
			ended(compute.AllocationCanceled, likely, slurm.Cancelled, "no work is left")},
		{"absent, and its time is over", record(active, absentFor(time.Minute), func(a *compute.Allocation) { a.LimitMS = ago(time.Minute) }), Facts{Queue: nobody, Accounting: restarts()},
			ended(compute.AllocationLost, likely, "", "its time limit had passed")},
		{"absent, but its runner calls", record(active, absentFor(2*time.Minute)), Facts{Queue: nobody, Accounting: restarts(), Runners: 1, Silence: time.Second},
			want{state: active, stop: true, soon: true, taken: slurm.Preempted, text: "its runner is alive"}},
		{"absent for long and in the end unknown to all, but its runner calls", record(active, absentFor(time.Hour)),
			Facts{Queue: nobody, Accounting: restarts(in(slurm.Running)), Show: &ShowAnswer{At: now}, Runners: 1, Silence: time.Second},
			want{state: active, stop: true, soon: true, taken: slurm.Preempted, text: "its runner is alive"}},
		{"absent, and its runner did not stop", record(active, absentFor(3*time.Minute), overFor(2*time.Minute)), Facts{Queue: nobody, Accounting: restarts(), Runners: 1, Silence: time.Second},
			ended(compute.AllocationLost, likely, "", "neither")},

		// Over for Slurm, with a runner that continues.
		{"node failed, its runner calls", record(active), Facts{Queue: queued(slurm.NodeFail), Runners: 1, Silence: 10 * time.Second},
			want{state: active, stop: true, soon: true, taken: slurm.NodeFail, text: "its runner is alive"}},
		{"node failed, its runner is silent", record(active), Facts{Queue: queued(slurm.NodeFail), Runners: 1, Silence: time.Minute},
			ended(compute.AllocationNodeFail, certain, slurm.NodeFail, "")},
		{"node failed, its runner did not stop", record(active, overFor(2*time.Minute)), Facts{Queue: queued(slurm.NodeFail), Runners: 1, Silence: time.Second},
			ended(compute.AllocationNodeFail, certain, slurm.NodeFail, "")},
		{"out of time, its runner called before", record(active), Facts{Queue: queued(slurm.Timeout, func(j *slurm.Job) { j.End = now.Add(-20 * time.Second) }), Runners: 1, Silence: 10 * time.Second},
			ended(compute.AllocationWalltime, certain, slurm.Timeout, "")},
		{"out of time, its runner called since", record(active), Facts{Queue: queued(slurm.Timeout, func(j *slurm.Job) { j.End = now.Add(-60 * time.Second) }), Runners: 1, Silence: 10 * time.Second},
			want{state: active, stop: true, soon: true, taken: slurm.Timeout}},

		// Over for Slurm, with a runner that may be in KillWait.
		{"absent once, canceled according to sacct", record(active), Facts{Queue: nobody, Accounting: restarts(dead(slurm.Cancelled, 5*time.Second)), Runners: 1, Silence: time.Second},
			want{state: active, soon: true, taken: slurm.Cancelled, text: "may not have ended"}},
		{"absent once, canceled according to sacct, at an unknown time", record(active), Facts{Queue: nobody, Accounting: restarts(canceledBy("0")), Runners: 1, Silence: time.Second},
			want{state: active, soon: true, taken: slurm.Cancelled, text: "may not have ended"}},
		{"absent once, canceled long ago", record(active), Facts{Queue: nobody, Accounting: restarts(dead(slurm.Cancelled, time.Minute)), Runners: 1, Silence: 2 * time.Minute},
			ended(compute.AllocationCanceledAdmin, certain, slurm.Cancelled, "by root")},
		{"absent and canceled, by a clock that is ahead", record(active, overFor(time.Minute)), Facts{Queue: nobody, Accounting: restarts(dead(slurm.Cancelled, -time.Hour)), Runners: 1, Silence: time.Minute},
			ended(compute.AllocationCanceledAdmin, certain, slurm.Cancelled, "by root")},
		{"absent once, canceled according to sacct, and its runner has left", record(active), Facts{Queue: nobody, Accounting: restarts(dead(slurm.Cancelled, 5*time.Second))},
			ended(compute.AllocationCanceledAdmin, certain, slurm.Cancelled, "by root")},
		{"canceled, and its nodes were released", record(active), Facts{Queue: queued(slurm.Cancelled), Accounting: restarts(dead(slurm.Cancelled, 5*time.Second)), Runners: 1, Silence: 6 * time.Second},
			ended(compute.AllocationCanceledAdmin, certain, slurm.Cancelled, "by root")},
		{"requeued by preemption, its nodes are not released yet", record(active, superseded(5*time.Second)), Facts{Queue: queued(slurm.Completing, nextLife),
			Accounting: restarts(dead(slurm.Preempted, 5*time.Second)), Runners: 1, Silence: time.Second}, want{state: active, soon: true, taken: slurm.Preempted, text: "may not have ended"}},
		{"requeued by preemption, squeue does not answer", record(active, superseded(5*time.Second)), Facts{Accounting: restarts(dead(slurm.Preempted, 5*time.Second)), Runners: 1, Silence: time.Second},
			want{state: active, soon: true, taken: slurm.Preempted, text: "may not have ended"}},
		{"requeued by preemption, its nodes were released", record(active, superseded(5*time.Second)), Facts{Queue: queued(slurm.Pending, nextLife),
			Accounting: restarts(dead(slurm.Preempted, 5*time.Second)), Runners: 1, Silence: 6 * time.Second}, ended(compute.AllocationPreempted, certain, slurm.Preempted, "PREEMPTED")},

		// About to be preempted.
		{"its end was moved forward", record(active), Facts{Queue: queued(slurm.Running, endsIn(30*time.Second)), Runners: 1}, want{state: active, taken: slurm.Preempted, text: "RUNNING"}},
		{"its end was moved back again", record(active, taken), Facts{Queue: queued(slurm.Running, endsIn(58*time.Minute)), Runners: 1}, want{state: active, taken: notTaken, text: "RUNNING"}},
		{"its end was moved forward, squeue no longer answers", record(active, taken), Facts{Runners: 1}, want{state: active, text: "no information"}},
		{"its runner left before its new end", record(active, taken), Facts{Queue: queued(slurm.Completed)},
			ended(compute.AllocationPreempted, likely, slurm.Preempted, "Slurm says COMPLETED, but its end was moved")},
		{"its runner failed before its new end", record(active, taken), Facts{Queue: nobody, Accounting: restarts(in(slurm.Failed))},
			ended(compute.AllocationPreempted, likely, slurm.Preempted, "Slurm says FAILED, but its end was moved")},
		{"canceled before its new end", record(active, taken), Facts{Queue: nobody, Accounting: restarts(canceledBy("1000"))}, ended(compute.AllocationCanceledUser, certain, slurm.Cancelled, "by its owner")},

		// Without a runner.
		{"its runner is silent", record(active), Facts{Queue: queued(slurm.Running), Runners: 1, LongestSilence: 11 * time.Minute}, want{state: active, cancel: true}},
		{"its runner's lease has expired", record(active), Facts{Queue: queued(slurm.Running), Runners: 1, LongestSilence: 61 * time.Second}, want{state: active, soon: true}},
		{"its runner was silent for a while", record(active), Facts{Queue: queued(slurm.Running), Runners: 1, LongestSilence: 9 * time.Minute}, want{state: active}},
		{"one of its runners is silent", record(active), Facts{Queue: queued(slurm.Running), Runners: 2, LongestSilence: 11 * time.Minute}, want{state: active, cancel: true}},
		{"no runner registered", record(active), Facts{Queue: queued(slurm.Running), WithoutRunner: 11 * time.Minute}, want{state: active, cancel: true}},
		{"its runner is silent, and squeue does not answer", record(active), Facts{Runners: 1, LongestSilence: time.Hour}, want{state: active}},

		// Restarts.
		{"requeued", record(active), Facts{Queue: queued(slurm.Pending, func(j *slurm.Job) { j.Restarts = 1 })}, want{state: pending, restarts: 1, accounting: true, soon: true, text: "requeued"}},
		{"a requeue under way", record(active), Facts{Queue: queued(slurm.Completing, func(j *slurm.Job) { j.Restarts = 1 })}, want{state: pending, restarts: 1, accounting: true, soon: true}},
		{"a requeue under way for long", record(pending, overFor(time.Hour), func(a *compute.Allocation) { a.RestartCount = 1 }), Facts{Queue: queued(slurm.Completing, func(j *slurm.Job) { j.Restarts = 1 })},
			want{state: pending, restarts: 1, soon: true}},
		{"requeued and running again", record(active), Facts{Queue: queued(slurm.Running, func(j *slurm.Job) { j.Restarts = 2 })}, want{state: active, restarts: 2, accounting: true, soon: true}},
		{"a duplicate that was requeued", record(pending, canceling(time.Minute, 1), func(a *compute.Allocation) { a.IsDuplicate = true }), Facts{Queue: queued(slurm.Cancelled, func(j *slurm.Job) { j.Restarts = 1 })},
			ended(compute.AllocationCanceled, certain, slurm.Cancelled, "")},
		{"squeue is behind", record(active, func(a *compute.Allocation) { a.RestartCount = 1 }), Facts{Queue: queued(slurm.Running)}, want{state: active, restarts: 1, soon: true, text: "earlier restart"}},
		{"requeued, the reason is not known yet", record(active, superseded(time.Second)), Facts{Queue: queued(slurm.Pending)}, want{state: active, accounting: true, soon: true, text: "the reason is not known"}},
		{"requeued by preemption", record(active, superseded(time.Second)), Facts{Accounting: restarts(in(slurm.Preempted), in(slurm.Pending))},
			ended(compute.AllocationPreempted, certain, slurm.Preempted, "PREEMPTED")},
		{"requeued by the loss of a node", record(active, superseded(time.Second)), Facts{Accounting: restarts(in(slurm.NodeFail), in(slurm.Running))},
			ended(compute.AllocationNodeFail, certain, slurm.NodeFail, "NODE_FAIL")},
		{"requeued by hand", record(active, superseded(time.Second)), Facts{Accounting: restarts(canceledBy("1000"), in(slurm.Running))},
			ended(compute.AllocationRequeued, likely, slurm.Requeued, "requeued it")},
		{"requeued, sacct is behind", record(active, superseded(time.Second)), Facts{Accounting: restarts(in(slurm.Running))}, want{state: active, accounting: true, soon: true}},
		{"requeued, nobody says why", record(active, superseded(time.Minute)), Facts{}, ended(compute.AllocationRequeued, likely, slurm.Requeued, "requeued it")},
		{"requeued, its first runner calls", record(active, superseded(time.Second)), Facts{Accounting: restarts(in(slurm.NodeFail)), Runners: 1, Silence: time.Second},
			want{state: active, stop: true, soon: true, taken: slurm.NodeFail}},
		{"the restart that started with it", record(active, superseded(time.Second)), Facts{Accounting: restarts(
			slurm.Record{State: slurm.NodeFail, Start: now.Add(-2 * time.Hour)}, slurm.Record{State: slurm.Preempted, Start: now.Add(-30 * time.Minute)})},
			ended(compute.AllocationPreempted, certain, slurm.Preempted, "")},
		{"the third start", record(active, func(a *compute.Allocation) { a.RestartCount = 2 }), Facts{Queue: nobody, Accounting: restarts(in(slurm.NodeFail), in(slurm.Preempted), in(slurm.Completed))},
			want{cause: compute.AllocationDone, confidence: certain, jobState: slurm.Completed, restarts: 2}},

		// What sbatch may have created.
		{"sbatch is running", record(compute.AllocationIntent, intent(time.Hour)), Facts{Queue: nobody, Accounting: restarts(), InFlight: true}, want{state: compute.AllocationIntent, soon: true, text: "sbatch is running"}},
		{"sbatch gave no answer", record(compute.AllocationIntent, intent(time.Minute)), Facts{Queue: nobody, Accounting: restarts()}, want{state: compute.AllocationIntent, soon: true}},
		{"sbatch gave no answer, squeue neither", record(compute.AllocationIntent, intent(time.Hour)), Facts{}, want{state: compute.AllocationIntent, soon: true}},
		{"not in the queue after two minutes", record(compute.AllocationIntent, intent(2*time.Minute)), Facts{Queue: nobody}, want{state: compute.AllocationIntent, accounting: true, soon: true}},
		{"nowhere after two minutes", record(compute.AllocationIntent, intent(2*time.Minute)), Facts{Queue: nobody, Accounting: restarts()}, ended(compute.AllocationNever, likely, "", "there is none with its name")},
		{"nowhere, and sacct is silent", record(compute.AllocationIntent, intent(time.Hour), absentFor(time.Minute)), Facts{Queue: nobody, AccountingSilent: time.Hour}, ended(compute.AllocationNever, likely, "", "")},
		{"nowhere, seen once, without accounting", record(compute.AllocationIntent, intent(time.Hour)), Facts{Queue: nobody, NoAccounting: true}, want{state: compute.AllocationIntent, soon: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Judge(tc.a, tc.facts, now, Settings{Owner: "1000"})
			if tc.want.restarts == 0 {
				tc.want.restarts = tc.a.RestartCount
			}
			tc.want.compare(t, v)
		})
	}
}
