package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

var pausedByAnn = PauseOptions{Pause: hold.Pause{By: "ann", Why: "maintenance"}}

// A pause ends claims at once, twice is once, and a proposal changes nothing.
func TestPause(t *testing.T) {
	r := newRig(t, independent(3)...)
	h := r.hand("n1", 1)
	h.turn()
	h.free.Slots = 0
	h.start(1)
	h.free.Slots = 1
	p, err := r.Workflows.ProposePause(r.ctx, r.workflow, PauseOptions{Now: true})
	if err != nil || !p.Began || p.Ending != 1 || len(p.Live) != 1 || p.Live[0].Unreachable {
		t.Fatalf("%+v, %v", p, err)
	}
	if n := r.number(`SELECT COUNT(*) FROM claim_hold`); n != 0 {
		t.Fatalf("the proposal left %d holds", n)
	}
	for i := range 2 {
		p, err := r.Workflows.Pause(r.ctx, r.workflow, pausedByAnn)
		if err != nil || p.Began != (i == 0) || p.Hold.Reason != "paused by ann: maintenance" || p.Ending != 0 {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	if n := r.number(`SELECT COUNT(*) FROM event WHERE type = 'user_action'`); n != 1 {
		t.Errorf("%d actions of a user are recorded", n)
	}
	answer := h.turn(exited(h.held[0].LeaseRef, 0))
	if len(answer.Grants) > 0 || answer.ClaimableLater || !strings.Contains(answer.ClaimsHeld, "paused by ann: maintenance") {
		t.Fatalf("%+v", answer)
	}
	if _, _, err := r.Jobs.ClaimByResources(r.ctx, r.workflow, 1, Resources{CPUs: 1, MemoryBytes: 1 << 30, Nodes: 1}, false); err != nil {
		t.Fatal(err)
	}
	r.want(workflow.Completed, workflow.Ready, workflow.Ready)
	released, err := r.ClaimHolds.Release(r.ctx, r.workflow, hold.HoldPause, "bob")
	if err != nil || len(released) != 1 || released[0].Pause().By != "ann" {
		t.Fatalf("%+v, %v", released, err)
	}
	if answer := h.turn(); len(answer.Grants) != 1 {
		t.Fatalf("%+v", answer)
	}
	r.sound(check.Witness{})
}

// With now, runners end what they hold. It is ready again, whatever the rules say, and uses
// no retry: this one has none.
func TestPauseNow(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{}, rigJob{after: []int{0}})
	r.setPolicy(workflow.RunPolicy{GlobalMaxRetries: new(int64(0))})
	h := r.hand("n1", 3)
	h.turn()
	h.start(2) // the third is claimed and has not started
	h.free.Slots = 0
	opts := pausedByAnn
	opts.Now = true
	p, err := r.Workflows.Pause(r.ctx, r.workflow, opts)
	if err != nil || p.Ending != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = r.Workflows.Pause(r.ctx, r.workflow, opts); err != nil || p.Ending != 0 {
		t.Fatalf("again: %+v, %v", p, err)
	}
	held := h.held
	if answer := h.turn(); len(answer.Cancel) != 3 || len(answer.Voided) > 0 {
		t.Fatalf("%+v", answer)
	}
	h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{held[2].LeaseRef}, Reports: []lease.Report{
		endedByUs(held[0].LeaseRef, workflow.KilledBySibling),
		{LeaseRef: held[1].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: workflow.Evidence{ExitCode: new(int64(0)), KilledBy: workflow.KilledBySibling}},
	}})
	r.want(workflow.Ready, workflow.Completed, workflow.Ready, workflow.Blocked)
	attempts := r.attempts(0)
	if len(attempts) != 1 || !strings.Contains(attempts[0], "canceled_user") {
		t.Errorf("%q", attempts)
	}
	var rule, why string
	r.must(r.db.Read.QueryRow(`SELECT rule, reason FROM attempt WHERE job_id = ?`, r.ids[0]).Scan(&rule, &why))
	if rule != workflow.RulePause || why != "its workflow was paused, which uses no retry" {
		t.Errorf("%s: %s", rule, why)
	}
	if n := r.number(`SELECT counted_failures FROM job WHERE id = ?`, r.ids[0]); n != 0 {
		t.Errorf("%d failures count", n)
	}
	_, err = r.ClaimHolds.Release(r.ctx, r.workflow, "", "ann")
	r.must(err)
	h.free.Slots = 2
	for _, g := range h.turn().Grants {
		if want := map[int64]int64{r.ids[0]: 2, r.ids[2]: 1}[g.JobID]; g.Attempt != want {
			t.Errorf("job %d: attempt %d, want %d", g.JobID, g.Attempt, want)
		}
	}
	r.sound(check.Witness{})
}

// A sibling's end, a timeout, or a cancel of the job takes precedence over the pause.
func TestPauseAndSiblings(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{})
	r.cancelSiblings(workflow.SiblingRule{Cause: workflow.CauseExit})
	h := r.hand("n1", 2)
	h.turn()
	h.start(2)
	h.free.Slots = 0
	opts := pausedByAnn
	opts.Now = true
	_, err := r.Workflows.Pause(r.ctx, r.workflow, opts)
	r.must(err)
	held := h.held
	h.turn(exited(held[0].LeaseRef, 3)) // it has failed by itself, before the order reached it
	h.turn(endedByUs(held[1].LeaseRef, workflow.KilledBySibling))
	r.want(workflow.Failed, workflow.Ready)
	r.sound(check.Witness{})
}

// What a pause does with allocations that wait.
func TestPauseAllocations(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("a")
	r.adopt("a", 7, 0)
	p, err := r.Workflows.Pause(r.ctx, r.workflow, pausedByAnn)
	if err != nil || len(p.Pending) != 1 || len(p.Canceled) != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if d := r.demandOf(0); !d.Held.KeepPending() {
		t.Errorf("%+v", d.Held)
	}
	opts := pausedByAnn
	opts.CancelPending = true
	p, err = r.Workflows.Pause(r.ctx, r.workflow, opts)
	if err != nil || p.Began || len(p.Pending) != 0 || len(p.Canceled) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if a := r.allocation(p.Canceled[0].ID); a.CancelMS == 0 || a.CancelWhy != "paused by ann: maintenance" || a.State == compute.AllocationEnded {
		t.Errorf("%+v", a)
	}
	if d := r.demandOf(0); d.Held.KeepPending() {
		t.Errorf("%+v", d.Held)
	}
	r.sound(check.Witness{})
}

// Nothing is paused that a pause could not stop.
func TestPauseRejected(t *testing.T) {
	for _, tc := range []struct {
		name  string
		begin func(*rig)
		want  string
	}{
		{"ended", func(r *rig) {
			h := r.hand("n1", 1)
			h.turn()
			h.turn(exited(h.held[0].LeaseRef, 0))
		}, "has ended: there is nothing to pause"},
		{"canceled", func(r *rig) {
			_, err := r.Workflows.Cancel(r.ctx, r.workflow)
			r.must(err)
		}, "is canceled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			tc.begin(r)
			_, err := r.Workflows.Pause(r.ctx, r.workflow, pausedByAnn)
			if workflow.CodeOf(err) != workflow.CodeConflict || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v", err)
			}
		})
	}
	r := newRig(t)
	if _, err := r.Workflows.Pause(r.ctx, 99, pausedByAnn); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("%v", err)
	}
}
