package store

import (
	"slices"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// lostAttempt is a rig whose first job was considered lost and waits for its retry. Its
// runner returns with a report.
func lostAttempt(t *testing.T, jobs ...rigJob) (*rig, *hand, lease.LeaseRef) {
	t.Helper()
	r := newRig(t, jobs...)
	h := r.hand("n1", 1)
	h.begins()
	r.pass(2 * time.Minute)
	ref := h.held[0].LeaseRef
	r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
	if got := r.statuses()[0]; got != workflow.Ready {
		t.Fatalf("after the loss: %s", got)
	}
	if n := r.number(`SELECT counted_failures FROM job WHERE id = ?`, r.ids[0]); n != 1 {
		t.Fatalf("%d counted failures", n)
	}
	return r, h, ref
}

func (r *rig) wantAttempts(causes ...workflow.CauseKind) []workflow.Attempt {
	r.tb.Helper()
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	var got []workflow.CauseKind
	for _, a := range attempts {
		got = append(got, a.Cause.Kind)
	}
	if !slices.Equal(got, causes) {
		r.tb.Fatalf("attempts %v, want %v", got, causes)
	}
	return attempts
}

// A report that arrives before the retry has begun counts: there is no retry, what
// depends on the job runs, and only two events are left of the loss.
func TestReportSupersedesALoss(t *testing.T) {
	r, h, ref := lostAttempt(t, rigJob{}, rigJob{after: []int{0}})
	for _, want := range []lease.Outcome{lease.Accepted, lease.Duplicate} {
		if got := h.turn(exited(ref, 0)).Results[0]; got.Outcome != want || got.Status != workflow.Completed {
			t.Fatalf("the report is %s: %+v", got.Outcome, got)
		}
		r.want(workflow.Completed, workflow.Ready)
	}
	r.wantAttempts(workflow.CauseOK)
	if n := r.number(`SELECT counted_failures + COALESCE(LENGTH(rule_counts), 0) FROM job WHERE id = ?`, r.ids[0]); n != 0 {
		t.Error("the retry is still counted")
	}
	if n := r.number(`SELECT COUNT(*) FROM result WHERE job_id = ? AND return_code = 0`, r.ids[0]); n != 1 {
		t.Errorf("%d results", n)
	}
	events := r.events()
	if i := slices.Index(events, "loss_superseded"); i < 0 || events[i+1] != "job_completed" {
		t.Errorf("events %v", events)
	}
	other := r.hand("n2", 1)
	other.turn(exited(other.turn().Grants[0].LeaseRef, 0))
	if v := r.ended(); v.Completed != 2 || v.Retried != 0 || v.Failed != 0 {
		t.Errorf("verdict: %+v", v)
	}
	r.sound(check.Witness{})
}

// A reported failure is decided as if there had been no loss.
func TestReportedFailureSupersedesALoss(t *testing.T) {
	r, h, ref := lostAttempt(t, rigJob{}, rigJob{after: []int{0}})
	h.turn(exited(ref, 3))
	r.want(workflow.Failed, workflow.Canceled)
	r.wantAttempts(workflow.CauseExit)
	if v := r.ended(); v.Failed != 1 || v.Retried != 0 {
		t.Errorf("verdict: %+v", v)
	}
	r.sound(check.Witness{})
}

// A job that is retried has all its retries, and the delay of its own rule.
func TestRepeatedFailureSupersedesALoss(t *testing.T) {
	r := newRig(t)
	r.add(rigJob{handler: r.handler(`[{"exit_codes": [7], "max_retries": 2}]`)})
	h := r.hand("n1", 1)
	h.begins()
	r.pass(2 * time.Minute)
	r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
	h.turn(exited(h.held[0].LeaseRef, 7))
	r.want(workflow.Ready)
	attempts := r.wantAttempts(workflow.CauseExit)
	if attempts[0].Decision.Action != workflow.ActionRetry || !attempts[0].Decision.Counted {
		t.Errorf("decision %+v", attempts[0].Decision)
	}
	if n := r.number(`SELECT counted_failures FROM job`); n != 1 {
		t.Errorf("%d counted failures", n)
	}
	r.pass(time.Hour)
	other := r.hand("n2", 1)
	other.turn(exited(other.turn().Grants[0].LeaseRef, 0))
	r.want(workflow.Completed)
	r.sound(check.Witness{})
}

// A later report changes nothing: the next attempt has begun, the runner was told to
// kill, or a recovery script would have to run where no runner is.
func TestReportsThatSupersedeNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(r *rig)
		report func(lease.LeaseRef) lease.Report
		want   workflow.JobStatus
	}{
		"the retry was claimed": {func(r *rig) {
			r.pass(time.Hour)
			r.hand("n2", 1).turn()
		}, func(ref lease.LeaseRef) lease.Report { return exited(ref, 0) }, workflow.Pending},
		"fenced off": {func(*rig) {}, func(ref lease.LeaseRef) lease.Report { return endedByUs(ref, workflow.KilledByFence) }, workflow.Ready},
		"recovery script": {func(r *rig) {
			handler := r.handler(`[{"exit_codes": [7], "max_retries": 3, "recovery_script": "./fix.sh"}]`)
			r.do(func(tx *core.Tx) error {
				return tx.ExecOne(`UPDATE job SET failure_handler_id = ? WHERE id = ?`, handler, r.ids[0])
			})
		}, func(ref lease.LeaseRef) lease.Report { return exited(ref, 7) }, workflow.Ready},
		"canceled": {func(r *rig) {
			_, err := r.Workflows.Cancel(r.ctx, r.workflow)
			r.must(err)
		}, func(ref lease.LeaseRef) lease.Report { return exited(ref, 0) }, workflow.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			r, h, ref := lostAttempt(t, rigJob{})
			tc.before(r)
			if got := h.turn(tc.report(ref)).Results[0].Outcome; got != lease.Late {
				t.Errorf("the report is %s", got)
			}
			r.wantAttempts(workflow.CauseLost)
			r.want(tc.want)
			r.sound(check.Witness{})
		})
	}
}
