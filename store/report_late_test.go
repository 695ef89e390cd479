package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// endedByUs reports that the runner ended an attempt because of an order.
func endedByUs(ref lease.LeaseRef, why workflow.KillReason) lease.Report {
	return lease.Report{LeaseRef: ref, StartedMS: 1_795_255_200_000, EndedMS: 1_795_255_203_000,
		Evidence: workflow.Evidence{Signal: 15, KilledBy: why, PeakMemoryBytes: 7 << 20}}
}

// completedInGrace reports an attempt that we were ending, and that exits with 0.
func completedInGrace(ref lease.LeaseRef) lease.Report {
	rep := exited(ref, 0)
	rep.Evidence.KilledBy = workflow.KilledBySibling
	return rep
}

// A runner that ends its jobs because the workflow was canceled adds to their attempts
// how they ended. Nothing else follows, and nothing looks like an error.
func TestReportsAfterCancel(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 2)
	h.turn()
	h.held[0].StartedMS = 1_795_255_200_000
	h.turn()
	r.want(running, pending)
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	events := r.events()
	if answer := h.turn(); !answer.Canceled || len(answer.Voided) > 0 {
		t.Errorf("the runner is told %+v, and would report nothing", answer)
	}
	reports := []lease.Report{endedByUs(h.held[0].LeaseRef, workflow.KilledByCancel), endedByUs(h.held[1].LeaseRef, workflow.KilledByCancel)}
	for _, want := range []lease.Outcome{lease.Accepted, lease.Duplicate} {
		answer := h.turn(reports...)
		if got := answer.Results[0]; got.Outcome != want || got.Status != canceled || got.ReturnCode != 143 || got.Cause != workflow.CauseCanceledUser {
			t.Errorf("the canceled attempt: %+v, want it %s", got, want)
		}
		// The daemon did not know of its start: there is no attempt.
		if got := answer.Results[1]; got.Outcome != lease.Late {
			t.Errorf("the claimed job: %+v", got)
		}
	}
	if diff := cmp.Diff(events, r.events()); diff != "" {
		t.Errorf("events (-before +after):\n%s", diff)
	}
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	a := attempts[0]
	if len(attempts) != 1 || a.Status != canceled || *a.EndedMS != 1_795_255_203_000 || a.Evidence.PeakMemoryBytes != 7<<20 || a.Evidence.Signal != 15 ||
		a.Cause.Text != "the workflow was canceled, SIGTERM" {
		t.Errorf("attempts %+v", attempts)
	}
	if n := r.number(`SELECT COUNT(*) FROM late_report WHERE job_id = ?`, r.ids[1]); n != 1 {
		t.Errorf("%d late reports of the claimed job, want 1", n)
	}
	r.want(canceled, canceled)
	r.sound(check.Witness{})
}

// The reports of a runner of an earlier run are stored and change nothing, and it is told
// to end what it holds.
func TestTurnOfAnEarlierRun(t *testing.T) {
	r := newRig(t, independent(3)...)
	h := r.hand("n1", 3)
	h.turn()
	h.held[0].StartedMS, h.held[1].StartedMS = 1_795_255_200_000, 1_795_255_200_000
	h.turn()
	recorded := exited(h.held[0].LeaseRef, 0)
	h.turn(recorded)
	r.want(completed, running, pending)
	r.changes = nil
	_, err := r.Workflows.Reset(r.ctx, r.workflow, true, "me")
	r.must(err)
	if !slices.Contains(r.changes[0].Runners, h.id) {
		t.Error("the runner is not told at once")
	}
	late := exited(h.held[0].LeaseRef, 3)
	held := h.held[1].LeaseRef
	for range 2 {
		answer := h.turn(recorded, late, exited(lease.LeaseRef{JobID: 999}, 0))
		var outcomes []lease.Outcome
		for _, res := range answer.Results {
			outcomes = append(outcomes, res.Outcome)
		}
		if diff := cmp.Diff([]lease.Outcome{lease.Duplicate, lease.Late, lease.Refused}, outcomes); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if !answer.Has(lease.OrderStop) || answer.RunID != 2 || !slices.Equal(answer.Voided, []lease.LeaseRef{held}) || len(answer.Grants) > 0 {
			t.Errorf("answer %+v", answer)
		}
	}
	answer := h.say(lease.TurnRequest{Recovered: []lease.Recovered{{LeaseRef: held}}, GiveBack: []lease.LeaseRef{held}})
	if got := answer.Results[0].Outcome; got != lease.Late {
		t.Errorf("the recovery of an earlier run is %s", got)
	}
	r.want(completed, running, pending)
	if n := r.number(`SELECT COUNT(*) FROM late_report WHERE run_id = 1 AND job_id = ?`, r.ids[1]); n != 1 {
		t.Errorf("%d late reports, want 1", n)
	}
	if all := r.events(); all[len(all)-1] != string(workflow.EventReportLate) {
		t.Errorf("events %v", all)
	}
	// When it has left, its jobs are free.
	_, err = r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	r.want(completed, ready, ready)
	r.sound(check.Witness{})
}

// A report whose answer was lost is not late when a runner of the next run delivers it.
func TestReportIsDeliveredInTheNextRun(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 2)
	h.turn()
	recorded, late := exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0)
	h.turn(recorded)
	r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
	_, err := r.Workflows.Reset(r.ctx, r.workflow, false, "me")
	r.must(err)
	heir := r.hand("n1", 0)
	answer, err := r.Runners.Turn(r.ctx, heir.id, lease.TurnRequest{Turn: 1, RunID: 2, Reports: []lease.Report{recorded, late}})
	r.must(err)
	if got := answer.Results; got[0].Outcome != lease.Duplicate || got[1].Outcome != lease.Late {
		t.Errorf("results %+v", got)
	}
	r.sound(check.Witness{Spooled: []check.SpooledReport{
		{RunID: 1, LeaseRef: recorded.LeaseRef, EndedMS: recorded.EndedMS, Answered: true},
		{RunID: 1, LeaseRef: late.LeaseRef, EndedMS: late.EndedMS, Answered: true},
	}})
}

// A report that an attempt that was considered lost is over ends the delay of a retry
// that waits only for that.
func TestLateReportEndsTheWaitForItsAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		backoff string
		wait    time.Duration // after the report
	}{
		"at once":   {"0s", 0},
		"back-off":  {"90s", 80 * time.Second},
		"no effect": {"5m", 5*time.Minute - 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setPolicy(workflow.RunPolicy{RetryPolicies: []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "p", Rules: []workflow.RetryRule{
				{When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseLost}}, Action: workflow.ActionRetry,
					Backoff: &workflow.Backoff{Kind: workflow.BackoffFixed, Initial: test.backoff}},
			}}}}})
			r.setTimeouts(workflow.Timeouts{Heartbeat: limit("5m", "")})
			h := r.hand("n1", 1)
			h.turn()
			h.held[0].StartedMS = r.now.UnixMilli()
			late := endedByUs(h.held[0].LeaseRef, workflow.KilledByFence) // ordered when it returned
			h.free.Slots = 0
			h.turn()
			r.now = r.now.Add(5 * time.Minute)
			_, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, 5*time.Minute)
			r.must(err)
			other := r.hand("n2", 1)
			r.now = r.now.Add(10 * time.Second)
			if g := other.turn().Grants; len(g) > 0 {
				t.Fatalf("granted while its first attempt may run: %+v", g)
			}
			h.number++
			answer, err := r.Runners.Turn(r.ctx, h.id, lease.TurnRequest{Turn: h.number, RunID: 1, Reports: []lease.Report{late}})
			r.must(err)
			if answer.Results[0].Outcome != lease.Late {
				t.Fatalf("results %+v", answer.Results)
			}
			if test.wait > 0 {
				r.now = r.now.Add(test.wait - time.Millisecond)
				if g := other.turn().Grants; len(g) > 0 {
					t.Fatalf("granted before its back-off was over: %+v", g)
				}
				r.now = r.now.Add(time.Millisecond)
			}
			g := other.turn().Grants
			if len(g) != 1 || g[0].Attempt != 2 {
				t.Fatalf("granted %+v", g)
			}
			done := exited(other.held[0].LeaseRef, 0)
			done.StartedMS, done.EndedMS = r.now.UnixMilli(), r.now.UnixMilli()+5
			other.turn(done)
			r.sound(check.Witness{})
		})
	}
}
