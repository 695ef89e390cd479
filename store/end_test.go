package store

import (
	"encoding/json"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// endPolicy sets the end policy of the rig's workflow.
func (r *rig) endPolicy(e workflow.EndPolicy) {
	r.tb.Helper()
	text, err := json.Marshal(workflow.RunPolicy{End: &e})
	r.must(err)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET policy = ? WHERE id = ?`, string(text), r.workflow)
	})
}

// ended returns the latest verdict.
func (r *rig) ended() (v stage.EndPayload) {
	r.verdict(&v)
	return v
}

func TestSuccessIf(t *testing.T) {
	for condition, want := range map[string]workflow.EventType{
		`completed >= 0.5 * total`:                           workflow.EventWorkflowCompleted,
		`completed == total`:                                 workflow.EventWorkflowFailed,
		`failed_in("j0") == 0`:                               workflow.EventWorkflowCompleted,
		`failed_in("j?") == 1 && completed_in("j*") == 2`:    workflow.EventWorkflowCompleted,
		`failed_in("j1") == 0`:                               workflow.EventWorkflowFailed,
		`failed_in("[j]1") == 0 && total_in("[j]1") == 0`:    workflow.EventWorkflowCompleted, // not a character class
		`attempts_by("exit") == 1 && attempts_by("ok") == 2`: workflow.EventWorkflowCompleted,
		`canceled > 0`:                                       workflow.EventWorkflowFailed,
	} {
		t.Run(condition, func(t *testing.T) {
			r := newRig(t, independent(3)...)
			r.endPolicy(workflow.EndPolicy{SuccessIf: condition})
			h := r.hand("n1", 3)
			g := h.turn().Grants
			h.turn(exited(g[0].LeaseRef, 0), exited(g[1].LeaseRef, 1), exited(g[2].LeaseRef, 0))
			v := r.ended()
			if v.EventType != string(want) || v.SuccessIf != condition || v.SuccessIfHolds == nil || *v.SuccessIfHolds != (want == workflow.EventWorkflowCompleted) {
				t.Errorf("%+v", v)
			}
			if w, err := r.Workflows.Get(r.ctx, r.workflow); err != nil || w.Verdict != want {
				t.Errorf("%s, %v", w.Verdict, err)
			}
			facts, err := r.Workflows.Facts(r.ctx, r.workflow)
			r.must(err)
			if facts.Verdict == nil || facts.Verdict.SuccessIf != condition {
				t.Errorf("the facts have %+v", facts.Verdict)
			}
			r.sound(check.Witness{})
		})
	}
}

// A canceled run is canceled, whatever its condition says.
func TestSuccessIfOfACanceledRun(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.endPolicy(workflow.EndPolicy{SuccessIf: "completed == 0"})
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	if v := r.ended(); v.EventType != string(workflow.EventWorkflowCanceled) || v.SuccessIfHolds != nil || v.SuccessIf != "" {
		t.Errorf("%+v", v)
	}
	r.sound(check.Witness{})
}

// The checker finds a verdict that does not follow from its condition.
func TestCheckFindsAWrongSuccess(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.endPolicy(workflow.EndPolicy{SuccessIf: "completed == 0"})
	h := r.hand("n1", 1)
	h.turn(exited(h.turn().Grants[0].LeaseRef, 0))
	if v := r.ended(); v.EventType != string(workflow.EventWorkflowFailed) {
		t.Fatalf("%+v", v)
	}
	r.endPolicy(workflow.EndPolicy{SuccessIf: "completed == 1"})
	if *inMemory || *asNetwork {
		return // no other process can read it
	}
	findings, err := check.Deep(r.ctx, r.Path(), check.Witness{})
	r.must(err)
	if len(findings) != 1 || findings[0].Promise != "P11" {
		t.Errorf("%v", findings)
	}
}
