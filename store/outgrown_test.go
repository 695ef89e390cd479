package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// fakePlaces are places that a test defines.
type fakePlaces struct {
	unplaced  func(c placement.Class) string
	elsewhere func(node string) bool
}

func (p fakePlaces) Unplaced(c placement.Class) string { return p.unplaced(c) }

func (p fakePlaces) Elsewhere(_ placement.Class, node string) bool { return p.elsewhere(node) }

// greedy is a job that may have twice as much memory with each attempt.
func greedy(t *testing.T) *rig {
	r := newRig(t, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}})
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE resource_requirements SET runtime = 'PT1M', memory = '1g'`)
	})
	r.setPolicy(workflow.RunPolicy{RetryPolicies: []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "memory", Rules: []workflow.RetryRule{{
		ID: "oom", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseOOM}}, Action: workflow.ActionRetry,
		Mutate: &workflow.Mutation{Memory: &workflow.Growth{Factor: 2}},
	}}}}}})
	return r
}

// outOfMemory has the job of a runner run out of memory.
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
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	if got := attempts[len(attempts)-1].Decision.Reason; !strings.Contains(got, reason) {
		r.tb.Errorf("reason %q, want %q in it", got, reason)
	}
	r.check()
	r.sound(check.Witness{})
}

// A job that outgrows the machine that somebody runs it on fails as soon as it requests
// more than the machine has.
func TestOutgrowsTheMachine(t *testing.T) {
	r := greedy(t)
	const memory = 3 << 30
	answer, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, RegisterRequest: lease.RegisterRequest{
		Key: "here", Hostname: "here", StartTime: "2026-11-21T10:00:00+00:00", NumCPUs: 2, MemoryBytes: memory, NumNodes: 1,
		NodeType: compute.SchedulerLocal,
	}})
	r.must(err)
	h := &hand{rig: r, id: answer.RunnerID, free: lease.Free{Slots: 1, Nodes: []placement.FreeNode{{CPUs: 2, MemoryBytes: memory}}}}
	h.turn()
	h.outOfMemory() // and it is granted again
	r.wantEnd(workflow.Pending, "memory 1g -> 2g")
	h.outOfMemory()
	r.wantEnd(workflow.Failed, "no retry, because its new requirements (memory 2g -> 4g) fit nowhere: runner 1 (here): never: memory: needs 4.00 GiB, largest node has 3.00 GiB")
}

// A job in an allocation may grow as long as a larger one could be requested.
func TestOutgrowsTheSite(t *testing.T) {
	for name, tc := range map[string]struct {
		most   int64 // what an allocation may have; 0: unknown
		status workflow.JobStatus
		reason string
	}{
		"the site is large":       {64 << 30, workflow.Ready, "memory 1g -> 2g"},
		"nobody knows the site":   {0, workflow.Ready, "memory 1g -> 2g"},
		"it is too small already": {1 << 29, workflow.Ready, "memory 1g -> 2g"},
		"it is too small now":     {1 << 30, workflow.Failed, "fit nowhere: needs too much"},
	} {
		t.Run(name, func(t *testing.T) {
			r := greedy(t)
			r.Scheduling.PublishPlaces(r.workflow, fakePlaces{unplaced: func(c placement.Class) string {
				if tc.most > 0 && c.MemoryBytes > tc.most {
					return "needs too much"
				}
				return ""
			}})
			r.intend("aa")
			r.adopt("aa", 17, 0)
			h := r.join("aa", 17, 0)
			h.turn()
			h.free.Slots = 0
			r.do(func(tx *core.Tx) error { // it is not larger than what the job requested
				return tx.ExecOne(`UPDATE compute_node SET max_parallel_jobs = NULL, memory_gb = 1 WHERE id = ?`, h.id)
			})
			h.outOfMemory()
			r.wantEnd(tc.status, tc.reason)
		})
	}
}
