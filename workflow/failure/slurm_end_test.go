package failure_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

func TestSlurmEndOfOneThatWasCutShort(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, tc := range map[string]struct {
		state string // of a record
		start time.Time
		lived time.Duration
		limit time.Duration
		want  string // empty: it was not cut short
	}{
		"preempted":        {failure.Timeout, start, 8 * time.Second, 10 * time.Minute, "TIMEOUT with 9m52s of its time limit left"},
		"out of time":      {failure.Timeout, start, 10*time.Minute + 12*time.Second, 10 * time.Minute, ""},
		"to the second":    {failure.Timeout, start, 10*time.Minute - time.Second, 10 * time.Minute, ""},
		"suspended":        {failure.Timeout, start, 2 * time.Hour, 10 * time.Minute, ""},
		"no limit":         {failure.Timeout, start, time.Minute, math.MaxInt64, ""},
		"unknown limit":    {failure.Timeout, start, time.Minute, 0, ""},
		"unknown start":    {failure.Timeout, time.Time{}, time.Minute, 10 * time.Minute, ""},
		"failed by itself": {failure.Failed, start, time.Minute, 10 * time.Minute, ""},
	} {
		e := failure.SlurmEnd(failure.Said{State: tc.state, Start: tc.start, End: start.Add(tc.lived), Limit: tc.limit}).Evidence()
		if is := tc.want != ""; e.Inferred != is || (e.JobState == failure.Preempted) != is || is && !strings.Contains(e.Reason, tc.want) {
			t.Errorf("%s: %+v; want %q", name, *e, tc.want)
		}
	}
}

// What Slurm says of a step, what was foretold, what we did and what somebody did by
// hand each have their place.
func TestSlurmEnd(t *testing.T) {
	foretold := &workflow.SlurmEvidence{JobState: failure.Preempted, Reason: "its end was moved", Inferred: true}
	for name, tc := range map[string]struct {
		said       failure.Said
		cause      compute.AllocationCause
		confidence workflow.Confidence
		want       *workflow.SlurmEvidence
	}{
		"with the uid": {failure.Said{State: "CANCELLED by 7", CanceledBy: "7", Owner: "7"}, compute.AllocationCanceledUser, workflow.Certain,
			&workflow.SlurmEvidence{JobState: "CANCELLED", CanceledBy: "7", Owner: "7"}},
		"by an administrator": {failure.Said{State: "CANCELLED", CanceledBy: "0", Owner: "7"}, compute.AllocationCanceledAdmin, workflow.Certain,
			&workflow.SlurmEvidence{JobState: "CANCELLED", CanceledBy: "0", Owner: "7"}},
		"by us": {failure.Said{State: "CANCELLED", Reason: "None", OurCancel: true, OurReason: "idle"}, compute.AllocationCanceled, workflow.Certain,
			&workflow.SlurmEvidence{JobState: "CANCELLED", Reason: "idle", CanceledByUs: true}},
		"out of time before our scancel": {failure.Said{State: "TIMEOUT", OurCancel: true, OurReason: "idle"}, compute.AllocationWalltime, workflow.Certain,
			&workflow.SlurmEvidence{JobState: "TIMEOUT"}},
		"foretold": {failure.Said{State: "COMPLETED", Foretold: foretold}, compute.AllocationPreempted, workflow.Likely,
			&workflow.SlurmEvidence{JobState: "PREEMPTED", Reason: "its end was moved", Inferred: true}},
		"a node failed all the same": {failure.Said{State: "NODE_FAIL", Foretold: foretold}, compute.AllocationNodeFail, workflow.Certain,
			&workflow.SlurmEvidence{JobState: "NODE_FAIL"}},
		"requeued by hand": {failure.Said{State: "CANCELLED", RequeuedByHand: true}, compute.AllocationRequeued, workflow.Likely,
			&workflow.SlurmEvidence{JobState: "REQUEUED"}},
		"a step out of memory": {failure.Said{OfStep: true, State: "OUT_OF_MEMORY"}, compute.AllocationOOM, workflow.Certain,
			&workflow.SlurmEvidence{StepState: "OUT_OF_MEMORY"}},
		"a step that died by a signal": {failure.Said{OfStep: true, State: "CANCELLED"}, compute.AllocationCanceledUser, workflow.Guess, nil},
		"unknown":                      {failure.Said{State: "ABDUCTED"}, compute.AllocationLost, workflow.Likely, &workflow.SlurmEvidence{JobState: "ABDUCTED"}},
	} {
		end := failure.SlurmEnd(tc.said)
		got := end.Evidence()
		if end.Cause != tc.cause || end.Confidence != tc.confidence || (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s: %s (%s) %+v", name, end.Cause, end.Confidence, got)
		}
	}
}

// Whose word counts: the runner's, the allocation's, ours.
func TestCombine(t *testing.T) {
	taken := &workflow.SlurmEvidence{JobState: failure.NodeFail}
	drained := func(state string) *workflow.Evidence {
		e := &workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain}
		if state != "" {
			e.Slurm = &workflow.SlurmEvidence{JobState: state}
		}
		return e
	}
	for name, tc := range map[string]struct {
		e    *workflow.Evidence
		a    compute.Allocation
		want string
		ours bool
	}{
		"nobody knows":                    {drained(""), compute.Allocation{}, "", false},
		"the allocation":                  {drained(""), compute.Allocation{NodeLoss: taken, CancelSentMS: 1, SupersededMS: 1}, failure.NodeFail, false},
		"our scancel":                     {drained(""), compute.Allocation{CancelSentMS: 1, SupersededMS: 1}, failure.Cancelled, true},
		"a requeue":                       {drained(""), compute.Allocation{SupersededMS: 1}, failure.Requeued, false},
		"the runner":                      {drained(failure.Preempted), compute.Allocation{NodeLoss: taken, CancelMS: 1}, failure.Preempted, false},
		"canceled, by us":                 {drained(failure.Cancelled), compute.Allocation{NodeLoss: taken, CancelMS: 1}, failure.Cancelled, true},
		"canceled, by somebody":           {drained(failure.Cancelled), compute.Allocation{NodeLoss: taken}, failure.Cancelled, false},
		"the attempt had ended by itself": {&workflow.Evidence{Signal: 11}, compute.Allocation{NodeLoss: taken}, "", false},
	} {
		said, ours := failure.Combine(tc.e, &tc.a)
		state := ""
		if said != nil {
			state = said.JobState
		}
		if state != tc.want || ours != tc.ours || said != nil && said.CanceledByUs != tc.ours {
			t.Errorf("%s: %+v, ours %v", name, said, ours)
		}
	}
}
