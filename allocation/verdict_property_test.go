package allocation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// anyMoment is a time in the last two hours, or unknown.
var anyMoment = rapid.OneOf(rapid.Just(int64(0)), rapid.Custom(func(t *rapid.T) int64 {
	return ago(time.Duration(rapid.IntRange(0, 7200).Draw(t, "seconds")) * time.Second)
}))

var anySpan = rapid.Custom(func(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(0, 1200).Draw(t, "seconds")) * time.Second
})

var anyAllocation = rapid.Custom(func(t *rapid.T) compute.Allocation {
	a := compute.Allocation{
		ID: 1, RestartCount: rapid.Int64Range(0, 2).Draw(t, "restart"), State: rapid.SampledFrom([]compute.AllocationState{
			compute.AllocationIntent, compute.AllocationPending, compute.AllocationActive}).Draw(t, "state"),
		AskedMS: ago(anySpan.Draw(t, "asked")), StartMS: anyMoment.Draw(t, "start"), LimitMS: anyMoment.Draw(t, "limit"),
		AbsentMS: anyMoment.Draw(t, "absent"), OverMS: anyMoment.Draw(t, "over"), SupersededMS: anyMoment.Draw(t, "superseded"),
		CancelMS: anyMoment.Draw(t, "cancel"),
	}
	if a.State != compute.AllocationIntent {
		a.SlurmJobID = 17
	}
	if a.CancelMS != 0 {
		a.CancelSentMS, a.CancelTries = anyMoment.Draw(t, "sent"), rapid.Int64Range(0, 5).Draw(t, "tries")
	}
	return a
})

var anyState = rapid.SampledFrom(append(slurm.States(), "PONDERING"))

var anyJob = rapid.Custom(func(t *rapid.T) *slurm.Job {
	return &slurm.Job{ID: slurm.JobID{Number: 17}, State: anyState.Draw(t, "state"), Restarts: rapid.IntRange(0, 3).Draw(t, "restarts"),
		End: time.UnixMilli(ago(anySpan.Draw(t, "ended")))}
})

var anyFacts = rapid.Custom(func(t *rapid.T) Facts {
	l := Facts{
		NoAccounting: rapid.Bool().Draw(t, "no accounting"), AccountingSilent: anySpan.Draw(t, "sacct silent"), InFlight: rapid.Bool().Draw(t, "in flight"),
		Runners: rapid.IntRange(0, 2).Draw(t, "runners"), Silence: anySpan.Draw(t, "silence"), WithoutRunner: anySpan.Draw(t, "alone"),
	}
	l.LongestSilence = l.Silence + anySpan.Draw(t, "longest silence")
	switch rapid.IntRange(0, 2).Draw(t, "squeue") {
	case 1:
		l.Queue = &QueueAnswer{At: now}
	case 2:
		l.Queue = &QueueAnswer{At: now, Job: anyJob.Draw(t, "job")}
	}
	if rapid.Bool().Draw(t, "sacct") {
		l.Accounting = &AccountingAnswer{At: now}
		for range rapid.IntRange(0, 3).Draw(t, "restarts") {
			l.Accounting.Restarts = append(l.Accounting.Restarts, slurm.Record{State: anyState.Draw(t, "restart")})
		}
	}
	switch rapid.IntRange(0, 2).Draw(t, "scontrol") {
	case 1:
		l.Show = &ShowAnswer{At: now}
	case 2:
		l.Show = &ShowAnswer{At: now, Job: anyJob.Draw(t, "shown job")}
	}
	return l
})

func judged(a compute.Allocation, l Facts) Verdict { return Judge(a, l, now, Settings{Owner: "1000"}) }

// TestNoInformationIsNoEnd: without information nothing ends.
func TestNoInformationIsNoEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, l := anyAllocation.Draw(t, "allocation"), anyFacts.Draw(t, "facts")
		a.SupersededMS = 0 // Slurm has said that an earlier restart is over
		l.Queue, l.Accounting, l.Show = nil, nil, nil
		if v := judged(a, l); v.End != nil {
			t.Fatalf("ended: %+v", v.End)
		}
	})
}

// TestOneAbsenceIsNoEnd: the first poll that does not find an allocation ends nothing, as
// long as there is no record of its end.
func TestOneAbsenceIsNoEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, l := anyAllocation.Draw(t, "allocation"), anyFacts.Draw(t, "facts")
		a.SupersededMS, a.AbsentMS, l.Queue = 0, 0, &QueueAnswer{At: now}
		if a.SlurmJobID == 0 {
			a.AskedMS = ago(time.Minute)
		}
		if l.Accounting != nil {
			l.Accounting.Restarts = nil
		}
		if l.Show != nil {
			l.Show.Job = nil
		}
		v := judged(a, l)
		if v.End != nil {
			t.Fatalf("ended: %+v", v.End)
		}
		if v.Seen.AbsentMS == 0 && !l.InFlight {
			t.Fatal("the absence is not recorded")
		}
	})
}

// TestPresenceIsNoEnd: an allocation in Slurm's queue has not ended; in every other state
// it is over.
func TestPresenceIsNoEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, l := anyAllocation.Draw(t, "allocation"), anyFacts.Draw(t, "facts")
		job := anyJob.Draw(t, "job")
		a.SupersededMS, a.SlurmJobID, a.State, job.Restarts = 0, 17, compute.AllocationActive, int(a.RestartCount)
		l.Queue = &QueueAnswer{At: now, Job: job}
		v := judged(a, l)
		switch {
		case job.State.Over() && v.End == nil && v.Stop == "" && !v.AskAccounting:
			t.Fatalf("%s waits for nobody: %s", job.State, v.Text)
		case !job.State.Over() && job.State != slurm.Completing && job.State != slurm.StageOut && v.End != nil:
			t.Fatalf("%s ended: %+v", job.State, v.End)
		}
	})
}

// TestEndIsFinal: an end does not change, whatever is seen later.
func TestEndIsFinal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAllocation.Draw(t, "allocation")
		v := judged(a, anyFacts.Draw(t, "facts"))
		if v.SendCancel && a.CancelMS == 0 {
			t.Fatal("a scancel without a decision")
		}
		if v.End == nil {
			return
		}
		if v.End.Cause == "" || v.End.Confidence == "" || v.End.Text == "" || v.SendCancel || v.Cancel != "" || v.Stop != "" {
			t.Fatalf("an end with loose ends: %+v", v)
		}
		a.State, a.Cause, a.Confidence, a.CauseText, a.EndMS = compute.AllocationEnded, v.End.Cause, v.End.Confidence, v.End.Text, v.End.EndMS
		again := judged(a, anyFacts.Draw(t, "later polls"))
		if diff := cmp.Diff(compute.AllocationEnd{Cause: a.Cause, Confidence: a.Confidence, Text: a.CauseText, EndMS: a.EndMS}, *again.End); diff != "" {
			t.Fatalf("it changed (-was +is):\n%s", diff)
		}
	})
}
