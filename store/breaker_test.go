package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// says sets the policy of the rig's workflow.
func (r *rig) says(p workflow.RunPolicy) {
	r.tb.Helper()
	_, err := r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{Policy: &p})
	r.must(err)
}

// failsSaying reports that an attempt failed now, with a text on stderr.
func (h *hand) failsSaying(ref lease.LeaseRef, stderr string) lease.Report {
	code := int64(7)
	ms := h.now.UnixMilli()
	return lease.Report{LeaseRef: ref, StartedMS: ms, EndedMS: ms, Evidence: workflow.Evidence{ExitCode: &code, StderrTail: stderr}}
}

var gpuCategories = []workflow.FailureCategory{
	{Category: "gpu", Subcategory: "ecc", When: workflow.CategoryMatch{Stderr: "ECC"}, Hint: "drain the node"},
	{Category: "gpu", When: workflow.CategoryMatch{Stderr: "Xid|ECC"}},
}

// retryAll retries every failure.
func retryAll() []workflow.PolicyRef {
	return []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "all", DefaultAction: workflow.ActionRetry}}}
}

// TestCategoriesOfReports: without a category from the runner the report is searched, and
// the first category that matches counts.
func TestCategoriesOfReports(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.says(workflow.RunPolicy{FailureCategories: gpuCategories})
	h := r.hand("n1", 3)
	first := h.turn()
	if first.Patterns == nil || len(first.Patterns.Categories) != 2 {
		t.Fatalf("the runner is told to look for %+v", first.Patterns)
	}
	if again := h.say(lease.TurnRequest{PatternsHash: first.Patterns.Hash}); again.Patterns != nil {
		t.Error("the runner is told what it knows")
	}
	byRunner := h.failsSaying(h.held[1].LeaseRef, "")
	byRunner.Evidence.PatternsHash, byRunner.Evidence.Category = first.Patterns.Hash, "gpu"
	answer := h.turn(h.failsSaying(h.held[0].LeaseRef, "a line\nan ECC error\nthe end"), byRunner, h.failsSaying(h.held[2].LeaseRef, "no reason"))
	if got := fmt.Sprintf("%s,%s,%s", answer.Results[0].Category, answer.Results[1].Category, answer.Results[2].Category); got != "gpu,gpu," {
		t.Errorf("categories in the answer: %s", got)
	}
	for i, want := range []string{"gpu/ecc by an ECC error: drain the node", "gpu/ by : ", "/ by : "} {
		attempts, err := r.Jobs.Attempts(r.ctx, r.ids[i])
		r.must(err)
		e := attempts[0].Evidence
		if got := fmt.Sprintf("%s/%s by %s: %s", e.Category, e.Subcategory, e.CategoryLine, e.CategoryHint); got != want {
			t.Errorf("job %d: %s, want %s", i, got, want)
		}
	}
	facts, err := r.Workflows.Facts(r.ctx, r.workflow)
	r.must(err)
	if diff := cmp.Diff(map[string]int64{"gpu": 2}, facts.Verdict.ByCategory); diff != "" {
		t.Errorf("counts of the verdict (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

// TestChangedPoliciesReachRunners: a runner gets the patterns of a stored policy that
// changes while it is running.
func TestChangedPoliciesReachRunners(t *testing.T) {
	r := newRig(t, independent(1)...)
	p := workflow.RetryPolicy{Name: "mine", Rules: []workflow.RetryRule{{ID: "a", When: workflow.RuleMatch{Stderr: "one"}, Action: workflow.ActionRetry}}}
	_, err := r.Policies.Create(r.ctx, p, "me")
	r.must(err)
	r.says(workflow.RunPolicy{RetryPolicies: []workflow.PolicyRef{{Name: "mine"}}})
	h := r.hand("n1", 1)
	first := h.turn()
	if first.Patterns == nil || !cmp.Equal(first.Patterns.Stderr, []string{"one"}) {
		t.Fatalf("patterns: %+v", first.Patterns)
	}
	p.Rules[0].When.Stderr = "two"
	r.changes = nil
	_, err = r.Policies.Update(r.ctx, p, "me")
	r.must(err)
	if last := r.changes[len(r.changes)-1]; !cmp.Equal(last.Ready, []int64{r.workflow}) {
		t.Errorf("the change wakes %v", last.Ready)
	}
	if next := h.say(lease.TurnRequest{PatternsHash: first.Patterns.Hash}); next.Patterns == nil || !cmp.Equal(next.Patterns.Stderr, []string{"two"}) {
		t.Errorf("patterns after the change: %+v", next.Patterns)
	}
}

// TestMaxFailures: claims are held when that many jobs have failed, and continue when the
// number is raised, when somebody releases the hold, or when fewer have failed.
func TestMaxFailures(t *testing.T) {
	two, three := int64(2), int64(3)
	r := newRig(t, independent(6)...)
	r.says(workflow.RunPolicy{MaxFailures: &two})
	h := r.hand("n1", 1)
	fail := func() lease.TurnResponse {
		t.Helper()
		if len(h.held) == 0 {
			h.turn()
		}
		return h.turn(h.failsSaying(h.held[0].LeaseRef, ""))
	}
	fail()
	if answer := fail(); answer.ClaimsHeld != "claims are held: 2 jobs have failed, max_failures is 2" || len(answer.Grants) > 0 {
		t.Fatalf("after two failures: %+v", answer)
	}
	if n := r.number(`SELECT COUNT(*) FROM alert WHERE kind = 'max_failures'`); n != 1 {
		t.Errorf("%d alerts", n)
	}
	r.says(workflow.RunPolicy{MaxFailures: &three})
	if answer := fail(); answer.ClaimsHeld == "" {
		t.Fatalf("after the third failure: %+v", answer)
	}
	if released, err := r.ClaimHolds.Release(r.ctx, r.workflow, "", "me"); err != nil || len(released) != 1 {
		t.Fatalf("released %v, %v", released, err)
	}
	fail()
	if answer := fail(); answer.ClaimsHeld != "" {
		t.Errorf("held again after two more failures: %s", answer.ClaimsHeld)
	}
	r.sound(check.Witness{})
}

// TestHoldBreaker: while it is open, jobs that would be retried wait for a decision; each
// attempt is counted once, and none after a reset.
func TestHoldBreaker(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.says(workflow.RunPolicy{RetryPolicies: retryAll(), FailureCategories: gpuCategories, CircuitBreakers: []workflow.CircuitBreaker{
		{Per: workflow.PerCategory, Threshold: 2, Within: "1h", Action: workflow.BreakerHold, For: "1h"}}})
	h := r.hand("n1", 1)
	h.turn()
	for i, want := range []workflow.JobStatus{workflow.Ready, workflow.Ready, workflow.PendingFailed} {
		r.now = r.now.Add(time.Second)
		answer := h.turn(h.failsSaying(h.held[0].LeaseRef, "Xid"))
		if answer.Results[0].Status != want {
			t.Fatalf("failure %d: %+v, want %s", i+1, answer.Results[0], want)
		}
	}
	trips, err := r.Breakers.Trips(r.ctx, BreakerFilter{WorkflowID: r.workflow})
	r.must(err)
	if len(trips) != 1 || trips[0].Subject != "gpu" || len(trips[0].Attempts) != 2 {
		t.Errorf("trips: %+v", trips)
	}
	if n := r.number(`SELECT COUNT(*) FROM alert WHERE kind = 'circuit_breaker'`); n != 1 {
		t.Errorf("%d alerts", n)
	}
	_, err = r.Breakers.Reset(r.ctx, BreakerFilter{ID: trips[0].ID}, "me")
	r.must(err)
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, hold.Classification{Status: workflow.Ready, Author: "me", Reason: "try"}, ResolveOptions{})
	r.must(err)
	h.turn()
	r.now = r.now.Add(time.Second)
	if answer := h.turn(h.failsSaying(h.held[0].LeaseRef, "Xid")); answer.Results[0].Status != workflow.Ready {
		t.Errorf("after the reset: %+v", answer.Results[0])
	}
	if n := r.number(`SELECT COUNT(*) FROM breaker_trip`); n != 1 {
		t.Errorf("%d trips: attempts from before the reset were counted again", n)
	}
	r.sound(check.Witness{})
}

// TestPauseBreaker: it holds the claims, and releases them when its time is over.
func TestPauseBreaker(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.says(workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{
		{Name: "stop", Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerPause, For: "10m"}}})
	h := r.hand("n1", 1)
	h.turn()
	if answer := h.turn(h.failsSaying(h.held[0].LeaseRef, "")); answer.ClaimsHeld == "" || !answer.ClaimableLater {
		t.Fatalf("after the failure: %+v", answer)
	}
	if n := r.number(`SELECT COUNT(*) FROM claim_hold h JOIN breaker_trip b ON b.id = h.evidence ->> 'id'`); n != 1 {
		t.Errorf("the evidence of %d holds names a breaker", n)
	}
	r.now = r.now.Add(10 * time.Minute)
	if answer := h.turn(); len(answer.Grants) != 1 {
		t.Errorf("when its time is over: %+v", answer)
	}
	r.sound(check.Witness{})
}

// TestExcludedNode: a node is excluded while there is another one, but used if it is the
// only one.
func TestExcludedNode(t *testing.T) {
	r := newRig(t, independent(4)...)
	r.says(workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{
		{Per: workflow.PerNode, Threshold: 1, Within: "1h", Action: workflow.BreakerExcludeNode}}})
	bad := r.hand("n1", 1)
	bad.turn()
	if answer := bad.turn(bad.failsSaying(bad.held[0].LeaseRef, "")); len(answer.Grants) != 1 {
		t.Errorf("the only node: %+v", answer)
	}
	good := r.hand("n2", 1)
	if answer := good.turn(); len(answer.Grants) != 1 {
		t.Errorf("the other node: %+v", answer)
	}
	if answer := bad.turn(bad.failsSaying(bad.held[0].LeaseRef, "")); len(answer.Grants) != 0 || answer.ClaimsHeld == "" {
		t.Errorf("the node beside another one: %+v", answer)
	}
	demand := r.demandOf(time.Minute)
	if diff := cmp.Diff([]string{"n1"}, demand.Excluded); diff != "" {
		t.Errorf("excluded nodes (-want +got):\n%s", diff)
	}
	_, err := r.Breakers.Reset(r.ctx, BreakerFilter{Node: "n1"}, "me")
	r.must(err)
	if answer := bad.turn(); len(answer.Grants) != 1 {
		t.Errorf("after the reset: %+v", answer)
	}
	r.sound(check.Witness{})
}

// TestExcludedNodeInAllocations: allocations that were requested later may use the node,
// since Slurm was asked to avoid it, but not earlier ones, and not if another breaker has
// opened since.
func TestExcludedNodeInAllocations(t *testing.T) {
	r := newRig(t, independent(6)...)
	r.says(workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{
		{Name: "first", Per: workflow.PerNode, Threshold: 1, Within: "1h", Action: workflow.BreakerExcludeNode},
		{Name: "second", Per: workflow.PerNode, Threshold: 2, Within: "1h", Action: workflow.BreakerExcludeNode}}})
	begin := func(intent string, job int64) *hand {
		t.Helper()
		r.now = r.now.Add(time.Second)
		r.intend(intent)
		r.adopt(intent, job, 0)
		h := r.join(intent, job, 0)
		h.free.Slots = 1
		return h
	}
	old, oldToo := begin("aa", 1), begin("bb", 2)
	old.turn()
	r.now = r.now.Add(time.Second)
	if answer := old.turn(old.failsSaying(old.held[0].LeaseRef, "")); len(answer.Grants) != 0 || answer.ClaimsHeld == "" {
		t.Errorf("the allocation whose job failed: %+v", answer)
	}
	if answer := oldToo.turn(); len(answer.Grants) != 0 || answer.ClaimsHeld == "" {
		t.Errorf("one that was asked for before: %+v", answer)
	}
	since := begin("cc", 3)
	if answer := since.turn(); len(answer.Grants) != 1 {
		t.Fatalf("one that was asked for since: %+v", answer)
	}
	r.now = r.now.Add(time.Second)
	if answer := since.turn(since.failsSaying(since.held[0].LeaseRef, "")); len(answer.Grants) != 0 || answer.ClaimsHeld == "" {
		t.Errorf("after the second breaker: %+v", answer)
	}
	if answer := begin("dd", 4).turn(); len(answer.Grants) != 1 {
		t.Errorf("one that was asked for since both: %+v", answer)
	}
	r.sound(check.Witness{})
}

// TestNodeBreaker: lost runners on a node count, not the jobs that are lost with them.
func TestNodeBreaker(t *testing.T) {
	r := newRig(t, independent(40)...)
	lose := func() {
		h := r.hand("n1", 4)
		for _, g := range h.turn().Grants {
			h.held = append(h.held[:0:0], h.held...)
			_ = g
		}
		for i := range h.held {
			h.held[i].StartedMS = r.now.UnixMilli()
		}
		h.free.Slots = 0
		h.turn()
		r.must(r.Runners.Expire(r.ctx, h.id, "gone"))
		r.now = r.now.Add(time.Second)
	}
	for range 4 {
		lose()
	}
	if n := r.number(`SELECT COUNT(*) FROM breaker_trip`); n != 0 {
		t.Fatalf("%d trips after four lost runners", n)
	}
	lose()
	trips, err := r.Breakers.Trips(r.ctx, BreakerFilter{})
	r.must(err)
	if len(trips) != 1 || trips[0].WorkflowID != 0 || trips[0].Subject != "n1" || trips[0].Action != workflow.BreakerExcludeNode {
		t.Errorf("trips: %+v", trips)
	}
	r.sound(check.Witness{})
}

// TestBreakerCountsOnce: it opens at the threshold, not before and not again while it is
// open, whatever the times of the failures.
func TestBreakerCountsOnce(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		threshold := rapid.Int64Range(1, 4).Draw(rt, "threshold")
		r.begin(independent(1)...)
		r.says(workflow.RunPolicy{RetryPolicies: retryAll(), CircuitBreakers: []workflow.CircuitBreaker{
			{Name: "b", Per: workflow.PerWorkflow, Threshold: threshold, Within: "10m", Action: workflow.BreakerHold, Cause: []workflow.CauseKind{workflow.CauseOOM, workflow.CauseExit}, For: "5m"}}})
		h := r.hand("n1", 1)
		var counted []int64 // ends of failures that count
		openUntil, trips := int64(0), int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "failures") {
			r.now = r.now.Add(time.Duration(rapid.IntRange(1, 400).Draw(rt, "seconds")) * time.Second)
			now := r.now.UnixMilli()
			if len(h.held) == 0 {
				h.turn()
			}
			if len(h.held) == 0 {
				return // held by the breaker, or out of retries
			}
			h.turn(h.failsSaying(h.held[0].LeaseRef, ""))
			if now > openUntil { // a failure at its end no longer counts
				counted = append(counted, now)
				n := int64(0)
				for _, at := range counted {
					if at > now-600_000 {
						n++
					}
				}
				if n >= threshold {
					trips, openUntil, counted = trips+1, now+300_000, nil
				}
			}
			if got := r.number(`SELECT COUNT(*) FROM breaker_trip WHERE workflow_id = ?`, r.workflow); got != trips {
				rt.Fatalf("%d trips, want %d", got, trips)
			}
		}
	})
}

// A use case that fails leaves behind no breaker that it had opened.
func TestABreakerOfAFailedUseCaseIsForgotten(t *testing.T) {
	r := newRig(t, independent(1)...)
	failed := errors.New("failed")
	open := func(tx *core.Tx) []workflow.BreakerTrip {
		t.Helper()
		trips, err := engine.OpenTrips(tx)
		r.must(err)
		return trips
	}
	err := r.shared.Do("test", func(tx *core.Tx) error {
		run, err := core.LoadRun(tx, r.workflow)
		r.must(err)
		b := workflow.CircuitBreaker{Per: workflow.PerNode, Within: "1h", Action: workflow.BreakerExcludeNode}
		trip := b.NewTrip("n1", nil, 1, tx.NowMS)
		trip.WorkflowID, trip.RunID = r.workflow, run.RunID
		r.must(engine.OpenBreaker(tx, run, trip))
		if n := len(open(tx)); n != 1 {
			t.Errorf("%d breakers are open", n)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	r.do(func(tx *core.Tx) error {
		if trips := open(tx); len(trips) > 0 {
			t.Errorf("open: %+v", trips)
		}
		return nil
	})
}
