package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// holdsExits opens at the first failure, and holds those that would be retried.
var holdsExits = []workflow.CircuitBreaker{
	{Per: workflow.PerWorkflow, Cause: []workflow.CauseKind{workflow.CauseExit}, Threshold: 1, Within: "1h", Action: workflow.BreakerHold},
}

// Only its timeout can end a compensation early: open breakers and claim holds do not
// affect it, and a failed job of it does not end the others.
func TestNothingHoldsACompensation(t *testing.T) {
	most := int64(1)
	r := newRig(t, independent(2)...)
	r.compensate(`{}`, 0, 1)
	r.says(workflow.RunPolicy{
		CircuitBreakers: holdsExits, RetryPolicies: retryAll(), GlobalMaxRetries: &most, MaxFailures: &most,
		CancelSiblingsOn: []workflow.SiblingRule{{Cause: workflow.CauseExit}},
	})
	r.do(func(tx *core.Tx) error { // its jobs run beside each other
		if _, err := tx.Exec(`UPDATE job SET gate_id = NULL WHERE workflow_id = ? AND stage_id IS NOT NULL`, r.workflow); err != nil {
			return err
		}
		return engine.CountGates(tx, r.workflow)
	})
	h := r.hand("n1", 3)
	step := func(codes ...int64) lease.TurnResponse {
		t.Helper()
		r.now = r.now.Add(time.Second)
		var reports []lease.Report
		for i, code := range codes {
			reports = append(reports, exited(h.held[i].LeaseRef, code))
		}
		answer := h.turn(reports...)
		for i := range h.held {
			h.held[i].StartedMS = r.now.UnixMilli()
		}
		return answer
	}
	step()
	step(1)    // retried; the breaker opens
	step(0, 1) // the other one completes, and this one has had its retry: claims are held
	if got := r.compensation(); got != "running" || len(h.held) != 3 {
		t.Fatalf("compensation: %s, held: %v", got, h.held)
	}
	r.sound(check.Witness{})
	step(1) // retried once, behind the others
	slices.Reverse(h.held)
	step(1)
	if answer := step(); len(answer.Cancel) > 0 {
		t.Errorf("to be ended: %v", answer.Cancel)
	}
	step(0, 0)
	if got := r.compensation(); got != "failed" {
		t.Errorf("compensation: %s, jobs: %v", got, r.statuses())
	}
	r.sound(check.Witness{})
}

// Nothing holds an end job: neither an open breaker nor the site.
func TestNothingHoldsAnEndJob(t *testing.T) {
	s := newStaged(t, withEnd())
	end, err := (&workflow.EndJob{Command: "true", Retries: 1}).Job("end", 1)
	s.must(err)
	def := withEnd()
	def.Jobs[4] = end
	s.load(def)
	s.says(workflow.RunPolicy{CircuitBreakers: holdsExits})
	if diff := cmp.Diff([]string{"step1", "beside", "step2", "step3", "end", "end"}, s.play(map[string]int64{"beside": 1, "end": 1})); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if v := s.ended(); v.EndJob == nil || v.EndJob.Status != workflow.Failed {
		t.Errorf("verdict: %+v", v)
	}
	s.sound(check.Witness{})
}
