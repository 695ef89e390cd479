package faults

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestMaxFailures and TestPause: a job fails, and the claims of the workflow are held
// while one allocation works and another waits. Nothing is requested until somebody
// releases them, or the time is over. No allocation is kept waiting by a hold that only a
// person can release.
func TestMaxFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.holdClaims("max_failures: 1\n")
	w.settleAllocations(id)
	for _, a := range w.allocations(id) {
		if a.StartMS == 0 && a.Cause != "canceled" {
			t.Errorf("the allocation that waited ended by %s: %s", a.Cause, a.CauseText)
		}
	}
	w.waitFor(10*time.Second, "claims are held")
	w.expectSubmissions(2)
	w.run("workflows", "resume", text(id))
	w.finishHeld(id)
	w.expectSubmissions(4)
}

func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.holdClaims("circuit_breakers: [{per: workflow, cause: [exit], threshold: 1, within: PT10M, action: pause, for: PT30S}]\n")
	waiting := w.waiting(id)
	w.eventually(time.Minute, "the first runner leaves", func() bool {
		return hasAllocation(w.allocations(id), func(a api.Allocation) bool { return a.State == "ended" })
	})
	begun := w.begun("") // including jobs claimed in advance
	w.waitFor(10*time.Second, "claims are held")
	if now := w.waiting(id); now.ID != waiting.ID {
		t.Errorf("allocation %d waited, now allocation %d", waiting.ID, now.ID)
	}
	w.expectSubmissions(2)
	if n := w.begun(""); n > begun {
		t.Errorf("%d jobs began although claims are held", n-begun)
	}
	w.finishHeld(id)
	w.expectSubmissions(3)
}

// holdClaims has a job of a workflow fail while one more allocation waits, and returns
// when the claims are held because of that.
func (w *world) holdClaims(policy string) int64 {
	w.t.Helper()
	id := w.submit(policy + twoAllocations + `
jobs:
  - {name: bad, command: '` + failWhenTold + `', priority: 1, scheduler: s, resource_requirements: wide}
  - {name: 'rest{i}', command: ./job.sh 1, parameters: {i: '1:6'}, scheduler: s, resource_requirements: small}
  - {name: big, command: ./job.sh 1, scheduler: h, resource_requirements: wider}
`)
	w.waiting(id)
	w.write("fail", "", 0o644)
	w.eventually(time.Minute, "claims are held", func() bool { return len(w.events(id, workflow.EventClaimsHeld)) > 0 })
	return id
}

// waiting returns the waiting allocation.
func (w *world) waiting(id int64) (waiting api.Allocation) {
	w.t.Helper()
	w.eventually(time.Minute, "an allocation waits", func() bool {
		return hasAllocation(w.allocations(id), func(a api.Allocation) bool {
			waiting = a
			return a.State == "pending" && a.SlurmReason == "JobHeldUser" && a.CancelMS == 0
		})
	})
	return waiting
}

// finishHeld lets the waiting allocation start, and the workflow end.
func (w *world) finishHeld(id int64) {
	w.t.Helper()
	w.eventually(time.Minute, "the claims are released", func() bool { return len(w.events(id, workflow.EventClaimsReleased)) > 0 })
	w.admin("release", text(w.waiting(id).SlurmJobID))
	w.settle(id, map[string]string{"bad": "failed"})
	w.expectOneAttempt(id)
}
