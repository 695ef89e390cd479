package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// hold holds the claims of the rig's workflow.
func (r *rig) hold(h hold.ClaimHold) (began bool) {
	r.tb.Helper()
	r.do(func(tx *core.Tx) error {
		run, err := core.LoadRun(tx, r.workflow)
		if err == nil {
			began, err = core.HoldClaims(tx, run, h)
		}
		return err
	})
	return began
}

// TestHeldClaims: nothing new is granted, running jobs continue, and lost grants are
// granted again.
func TestHeldClaims(t *testing.T) {
	r := newRig(t, independent(4)...)
	h := r.hand("n1", 2)
	h.turn()
	r.hold(hold.ClaimHold{Kind: hold.HoldMaxFailures, Reason: "too many failures", Evidence: json.RawMessage(`{"failed": 3}`)})
	if again := h.say(lease.TurnRequest{Held: h.held[:1]}); len(again.Grants) != 1 || again.Grants[0].LeaseRef != h.held[1].LeaseRef {
		t.Errorf("granted again: %+v, want the lease that was lost", again.Grants)
	}
	h.held = h.held[:2]
	answer := h.turn(exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0))
	if len(answer.Grants) > 0 || answer.ClaimableLater || answer.ClaimsHeld != "claims are held: too many failures" {
		t.Errorf("answer while claims are held: %+v", answer)
	}
	jobs, reason, err := r.Jobs.ClaimByResources(r.ctx, r.workflow, 4, Resources{CPUs: 4, MemoryBytes: 1 << 36, Nodes: 1}, false)
	if err != nil || len(jobs) > 0 || reason != "claims are held: too many failures" {
		t.Errorf("torc client: %d jobs, %q, %v", len(jobs), reason, err)
	}
	if jobs, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 4, nil); err != nil || len(jobs) > 0 {
		t.Errorf("torc client: %d jobs, %v", len(jobs), err)
	}
	facts, err := r.Jobs.Facts(r.ctx, r.ids[2])
	r.must(err)
	if e := explain.Job(facts); e.State != "ready, but claims of the workflow's jobs are held" {
		t.Errorf("why says %q", e.State)
	}
	demand := r.demandOf(time.Minute)
	if len(demand.Held) != 1 {
		t.Errorf("the demand says %+v of holds", demand.Held)
	}
	r.sound(check.Witness{})
	r.changes = nil
	if released, err := r.ClaimHolds.Release(r.ctx, r.workflow, hold.HoldDeadline, "me"); err != nil || len(released) != 0 {
		t.Errorf("released %v holds of another kind, %v", released, err)
	}
	if released, err := r.ClaimHolds.Release(r.ctx, r.workflow, "", "me"); err != nil || len(released) != 1 {
		t.Errorf("released %v holds, %v", released, err)
	}
	if last := r.changes[len(r.changes)-1]; !cmp.Equal(last.Ready, []int64{r.workflow}) {
		t.Errorf("a release wakes %v", last.Ready)
	}
	if answer := h.turn(); len(answer.Grants) != 2 || answer.ClaimsHeld != "" {
		t.Errorf("answer afterwards: %+v", answer)
	}
	want := []string{"compute_node_started", "claims_held", "job_started", "job_completed", "job_started", "job_completed", "claims_released", "user_action"}
	if diff := cmp.Diff(want, r.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

// TestHeldClaimsExpire: a runner waits for the end of a hold, unless the runner ends
// before it, and the hold ends by itself.
func TestHeldClaimsExpire(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 1)
	until := r.now.Add(time.Hour).UnixMilli()
	r.hold(hold.ClaimHold{Kind: hold.HoldBreaker, Name: "gpu", Reason: "a breaker", UntilMS: until})
	if n := r.changes[len(r.changes)-1].NotBefore; n != until {
		t.Errorf("looks again at %d, want %d", n, until)
	}
	if answer := h.turn(); len(answer.Grants) > 0 || !answer.ClaimableLater {
		t.Errorf("answer: %+v, want to wait", answer)
	}
	h.free.TimeLeftSeconds = new(int64(1800))
	if answer := h.turn(); answer.ClaimableLater {
		t.Errorf("a runner waits for a hold that outlasts it")
	}
	h.free.TimeLeftSeconds = nil
	if next, err := r.ClaimHolds.Expire(r.ctx); err != nil || next != until {
		t.Errorf("next end: %d, %v", next, err)
	}
	r.now = r.now.Add(time.Hour)
	r.changes = nil
	if next, err := r.ClaimHolds.Expire(r.ctx); err != nil || next != 0 {
		t.Errorf("next end: %d, %v", next, err)
	}
	if len(r.changes) == 0 || !cmp.Equal(r.changes[0].Ready, []int64{r.workflow}) {
		t.Errorf("the end of a hold wakes nobody: %+v", r.changes)
	}
	if answer := h.turn(); len(answer.Grants) != 1 {
		t.Errorf("answer: %+v", answer)
	}
	r.sound(check.Witness{})
}

// TestResetReleasesClaims: a new run starts without the holds of the last one.
func TestResetReleasesClaims(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.hold(hold.ClaimHold{Kind: hold.HoldMaxFailures, Reason: "too many failures"})
	_, err := r.Workflows.Reset(r.ctx, r.workflow, false, "me")
	r.must(err)
	holds, err := r.ClaimHolds.List(r.ctx, r.workflow)
	r.must(err)
	if len(holds) != 1 || holds[0].EndedMS == 0 || holds[0].EndedWhy != "a new run was started" {
		t.Errorf("holds: %+v", holds)
	}
	r.sound(check.Witness{})
}

// TestClaimHoldsAgainstModel: in any order, claims are held if and only if a hold is in
// effect.
func TestClaimHoldsAgainstModel(t *testing.T) {
	type key struct {
		kind hold.ClaimHoldKind
		name string
	}
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		r.begin(independent(1)...)
		h := r.hand("n1", 1)
		live := map[key]int64{} // until; 0: no end
		keys := []key{{hold.HoldMaxFailures, ""}, {hold.HoldBreaker, "a"}, {hold.HoldBreaker, "b"}, {hold.HoldDeadline, ""}, {hold.HoldPause, ""}}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			k := rapid.SampledFrom(keys).Draw(rt, "key")
			switch rapid.SampledFrom([]string{"hold", "hold", "release", "wait", "expire"}).Draw(rt, "step") {
			case "hold":
				until := int64(0)
				if minutes := rapid.Int64Range(0, 3).Draw(rt, "minutes"); minutes > 0 {
					until = r.now.UnixMilli() + minutes*60_000
				}
				// A hold whose time is over ends at the next use, as with each claim.
				h.giveBack(h.turn())
				old, was := live[k]
				if began := r.hold(hold.ClaimHold{Kind: k.kind, Name: k.name, Reason: "x", UntilMS: until}); began == was {
					rt.Fatalf("%v began: %v, was there: %v", k, began, was)
				}
				if was && (old == 0 || until == 0) {
					until = 0
				}
				live[k] = until
				if was && until != 0 {
					live[k] = max(old, until)
				}
			case "release":
				_, err := r.ClaimHolds.Release(r.ctx, r.workflow, k.kind, "me")
				r.must(err)
				for other := range live {
					if other.kind == k.kind {
						delete(live, other)
					}
				}
			case "wait":
				r.now = r.now.Add(time.Minute)
			case "expire":
				_, err := r.ClaimHolds.Expire(r.ctx)
				r.must(err)
			}
			for k, until := range live {
				if until != 0 && until <= r.now.UnixMilli() {
					delete(live, k)
				}
			}
			answer := h.turn()
			if held := len(answer.Grants) == 0; held != (len(live) > 0) {
				rt.Fatalf("claims held: %v, live: %v", held, live)
			}
			h.giveBack(answer)
		}
	})
	r.sound(check.Witness{})
}

// giveBack returns what was granted.
func (h *hand) giveBack(answer lease.TurnResponse) {
	h.tb.Helper()
	var refs []lease.LeaseRef
	for _, g := range answer.Grants {
		refs = append(refs, g.LeaseRef)
	}
	if len(refs) > 0 {
		free := h.free
		h.free.Slots = 0
		h.say(lease.TurnRequest{GiveBack: refs})
		h.free = free
	}
}

// Releasing holds of one kind does not forgive the failures that another kind counts.
func TestAReleaseOfAnotherKindForgivesNothing(t *testing.T) {
	two := int64(2)
	r := newRig(t, independent(4)...)
	r.says(workflow.RunPolicy{MaxFailures: &two})
	h := r.hand("n1", 3)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 1), exited(h.held[1].LeaseRef, 1))
	if released, err := r.ClaimHolds.Release(r.ctx, r.workflow, hold.HoldBreaker, "me"); err != nil || len(released) != 0 {
		t.Fatalf("released %v, %v", released, err)
	}
	if answer := h.turn(exited(h.held[0].LeaseRef, 1)); answer.ClaimsHeld == "" {
		t.Errorf("nothing holds the claims any more: %+v", answer)
	}
	r.sound(check.Witness{})
}
