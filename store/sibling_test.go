package store

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// cancelSiblings sets the sibling rules of the rig's workflow.
func (r *rig) cancelSiblings(rules ...workflow.SiblingRule) {
	r.tb.Helper()
	text, err := json.Marshal(workflow.RunPolicy{CancelSiblingsOn: rules})
	r.must(err)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET policy = ? WHERE id = ?`, string(text), r.workflow)
	})
}

// The runners of the siblings are told once; what they report is the end, and the run
// waits for it.
func TestSiblingsAreCanceled(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{}, rigJob{}, rigJob{after: []int{1}})
	r.cancelSiblings(workflow.SiblingRule{Cause: workflow.CauseExit})
	h, other := r.hand("n1", 2), r.hand("n2", 1)
	h.turn()
	other.turn()
	h.held[1].StartedMS, other.held[0].StartedMS = 1, 1
	h.free.Slots, other.free.Slots = 0, 0
	h.turn()
	other.turn()
	h.turn(exited(h.held[0].LeaseRef, 3))
	if last := r.changes[len(r.changes)-1]; !slices.Contains(last.Runners, other.id) {
		t.Error("the other runner is not woken")
	}
	r.want(workflow.Failed, workflow.Running, workflow.Running, workflow.Ready, workflow.Blocked)
	answer := other.turn()
	if diff := cmp.Diff([]lease.LeaseRef{other.held[0].LeaseRef}, answer.Cancel); diff != "" || len(answer.Voided) > 0 {
		t.Errorf("to cancel (-want +got):\n%s", diff)
	}
	other.held[0].Ending = true
	if answer = other.turn(); len(answer.Cancel) > 0 {
		t.Errorf("told again: %v", answer.Cancel)
	}
	// One dies with the node, one ends; neither is repeated.
	r.must(r.Runners.Expire(r.ctx, h.id, "killed"))
	r.want(workflow.Failed, workflow.Failed, workflow.Running, workflow.Ready, workflow.Canceled)
	other.turn(endedByUs(other.held[0].LeaseRef, workflow.KilledBySibling))
	r.want(workflow.Failed, workflow.Failed, workflow.Canceled, workflow.Ready, workflow.Canceled)
	if n := r.number(`SELECT COUNT(*) FROM event WHERE workflow_id = ? AND type = 'siblings_canceled'`, r.workflow); n != 1 {
		t.Errorf("%d events", n)
	}
	other.free.Slots = 1
	g := other.turn().Grants // what had not begun continues
	other.turn(exited(g[0].LeaseRef, 0))
	if v := r.ended(); v.Failed != 2 || v.Canceled != 2 || v.Completed != 1 || v.Retried != 0 {
		t.Errorf("verdict: %+v", v)
	}
	r.check()
}

// TestCanceledSiblingIsDrained: the allocation of a job ends while the job is being
// canceled because of another one. It is not repeated, and the checker knows why.
func TestCanceledSiblingIsDrained(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{})
	r.cancelSiblings(workflow.SiblingRule{Cause: workflow.CauseExit})
	h, other := r.hand("n1", 1), r.hand("n2", 1)
	h.turn()
	other.turn()
	h.held[0].StartedMS, other.held[0].StartedMS = 1, 1
	h.free.Slots, other.free.Slots = 0, 0
	h.turn()
	other.turn()
	h.turn(exited(h.held[0].LeaseRef, 3))
	other.turn(endedByUs(other.held[0].LeaseRef, workflow.KilledByDrain))
	r.want(workflow.Failed, workflow.Terminated)
	r.sound(check.Witness{})
}

// A claimed job that was not started is canceled when it is given back.
func TestClaimedSiblingIsCanceled(t *testing.T) {
	r := newRig(t, rigJob{labels: "critical"}, rigJob{}, rigJob{after: []int{1}})
	r.cancelSiblings(workflow.SiblingRule{Cause: workflow.CauseOOM}, workflow.SiblingRule{Label: "critical"})
	critical, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, RegisterRequest: lease.RegisterRequest{
		Key: "c", Hostname: "n2", StartTime: "2026-11-21T10:00:00+00:00",
		NumCPUs: 1, MemoryBytes: 1 << 36, NumNodes: 1, NodeType: compute.SchedulerLocal, MaxParallelJobs: 1, Labels: []string{"critical"},
	}})
	r.must(err)
	h, c := r.hand("n1", 1), &hand{rig: r, id: critical.RunnerID, free: lease.Free{Slots: 1}}
	h.turn()
	c.free.Slots = 1
	c.turn()
	c.turn(exited(c.held[0].LeaseRef, 1))
	answer := h.turn()
	if len(answer.Cancel) != 1 {
		t.Fatalf("to cancel: %v", answer.Cancel)
	}
	h.say(lease.TurnRequest{GiveBack: answer.Cancel})
	r.want(workflow.Failed, workflow.Canceled, workflow.Canceled)
	if v := r.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Canceled != 2 {
		t.Errorf("verdict: %+v", v)
	}
}

// A failure that matches no rule, and one that is retried, do not affect the siblings.
func TestSiblingsGoOn(t *testing.T) {
	r := newRig(t)
	r.add(rigJob{handler: r.handler(`[{"exit_codes": [7], "max_retries": 2}]`)}, rigJob{})
	r.cancelSiblings(workflow.SiblingRule{Cause: workflow.CauseOOM}, workflow.SiblingRule{Cause: workflow.CauseExit, Label: "critical"})
	h := r.hand("n1", 2)
	g := h.turn().Grants
	h.turn(exited(g[0].LeaseRef, 7))
	h.turn(exited(h.held[1].LeaseRef, 1))
	if n := r.number(`SELECT COUNT(*) FROM job WHERE cancel_fence > 0`); n != 0 {
		t.Errorf("%d jobs are to be ended", n)
	}
}

// One that completes within its grace time is completed, and what depends on it runs.
func TestSiblingCompletesWithinItsGrace(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{after: []int{1}})
	r.cancelSiblings(workflow.SiblingRule{Cause: workflow.CauseExit})
	h := r.hand("n1", 2)
	h.begins()
	h.turn(exited(h.held[0].LeaseRef, 3))
	h.turn(completedInGrace(h.held[0].LeaseRef))
	r.want(workflow.Failed, workflow.Completed, workflow.Ready)
	r.check()
}
