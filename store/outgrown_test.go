package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// greedy is a job that may have twice as much memory with each attempt.
func greedy(t *testing.T) *rig {
	r := newRig(t, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}})
	r.do(func(tx *Tx) error {
		return tx.execOne(`UPDATE resource_requirements SET runtime = 'PT1M', memory = '1g'`)
	})
	r.setPolicy(workflow.RunPolicy{RetryPolicies: []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "memory", Rules: []workflow.RetryRule{{
		ID: "oom", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseOOM}}, Action: workflow.ActionRetry,
		Mutate: &workflow.Mutation{Memory: &workflow.Growth{Factor: 2}},
	}}}}}})
	return r
}

// outOfMemory has the job of a runner end so.
func (h *hand) outOfMemory() {
	h.tb.Helper()
	if len(h.held) != 1 {
		h.tb.Fatalf("the runner holds %v", h.held)
	}
	rep := exited(h.held[0].LeaseRef, 0)
	rep.Evidence = workflow.Evidence{Signal: 9, OOMKills: 1, PeakMemoryBytes: 1 << 30}
	h.turn(rep)
}

// wantEnd compares status, budget and the reason of the latest decision.
func (r *rig) wantEnd(status workflow.JobStatus, reason string) {
	r.tb.Helper()
	if got := r.statuses()[0]; got != status {
		r.tb.Errorf("the job is %s, want %s", got, status)
	}
	attempts, err := r.JobAttempts(r.ctx, r.ids[0])
	r.must(err)
	if got := attempts[len(attempts)-1].Decision.Reason; !strings.Contains(got, reason) {
		r.tb.Errorf("reason %q, want %q in it", got, reason)
	}
	r.check()
	r.sound(Witness{})
}

// A job that outgrows the machine that somebody runs it on fails, as soon as it
// asks for more than that has.
func TestOutgrowsTheMachine(t *testing.T) {
	r := greedy(t)
	const memory = 3 << 30
	answer, err := r.RegisterRunner(r.ctx, Registration{
		WorkflowID: r.workflow, Key: "here", Hostname: "here", StartTime: "2026-11-21T10:00:00+00:00", NumCPUs: 2, MemoryBytes: memory, NumNodes: 1,
		NodeType: workflow.SchedulerLocal,
	})
	r.must(err)
	h := &hand{rig: r, id: answer.RunnerID, free: Free{Slots: 1, Nodes: []workflow.OfferNode{{CPUs: 2, MemoryBytes: memory}}}}
	h.turn()
	h.outOfMemory() // and it is granted again
	r.wantEnd(workflow.Pending, "memory 1g -> 2g")
	h.outOfMemory()
	r.wantEnd(workflow.Failed, "no retry, as what it would ask for (memory 2g -> 4g) fits nowhere: runner 1 (here): never: memory: needs 4.00 GiB, largest node has 3.00 GiB")
}

// A job in an allocation may grow as long as a larger one could be asked for.
func TestOutgrowsTheSite(t *testing.T) {
	for name, tc := range map[string]struct {
		most   int64 // what an allocation may have; 0: nobody knows
		status workflow.JobStatus
		reason string
	}{
		"the site is large":       {64 << 30, workflow.Ready, "memory 1g -> 2g"},
		"nobody knows the site":   {0, workflow.Ready, "memory 1g -> 2g"},
		"it is too small already": {1 << 29, workflow.Ready, "memory 1g -> 2g"},
		"it is too small now":     {1 << 30, workflow.Failed, "fits nowhere: needs too much"},
	} {
		t.Run(name, func(t *testing.T) {
			r := greedy(t)
			r.writer.unplaced = func(_ int64, c workflow.Class) string {
				if tc.most > 0 && c.MemoryBytes > tc.most {
					return "needs too much"
				}
				return ""
			}
			r.intend("aa")
			r.adopt("aa", 17, 0)
			h := r.join("aa", 17, 0)
			h.turn()
			h.free.Slots = 0
			r.do(func(tx *Tx) error { // it is not larger than what the job asked for
				return tx.execOne(`UPDATE compute_node SET max_parallel_jobs = NULL, memory_gb = 1 WHERE id = ?`, h.id)
			})
			h.outOfMemory()
			r.wantEnd(tc.status, tc.reason)
		})
	}
}
