package store

import "testing"

// The budgets of a run start with it, also those of jobs that stay ready.
func TestANewRunHasNewBudgets(t *testing.T) {
	r := newRig(t)
	r.add(rigJob{handler: r.handler(`[{"exit_codes": [9], "max_retries": 2}]`)})
	h := r.hand("n1", 1)
	h.turn()
	h.free.Slots = 0
	h.turn(exited(h.held[0].LeaseRef, 9))
	if n := r.number(`SELECT counted_failures FROM job WHERE rule_counts IS NOT NULL`); n != 1 {
		t.Fatalf("%d counted failures, want 1", n)
	}
	_, err := r.Workflows.Reset(r.ctx, r.workflow, false, "me")
	r.must(err)
	if n := r.number(`SELECT COUNT(*) FROM job WHERE rule_counts IS NOT NULL OR counted_failures != 0`); n != 0 {
		t.Errorf("%d jobs have used budget in a run that has just begun", n)
	}
}
