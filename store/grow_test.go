package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// requested returns what a job requests.
func (r *rig) requested(i int) (q string) {
	r.tb.Helper()
	r.do(func(tx *core.Tx) error {
		return tx.Row(`SELECT q.memory || ' ' || q.runtime || ' ' || q.memory_bytes FROM job j JOIN claim_class c ON c.id = j.class_id
			JOIN resource_requirements q ON q.id = c.requirements_id WHERE j.id = ?`, []any{r.ids[i]}, &q)
	})
	return q
}

// A job that ran out of memory requests more next time, and no other job does.
func TestAJobGrows(t *testing.T) {
	gig := workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}
	r := newRig(t, rigJob{needs: gig}, rigJob{needs: gig}, rigJob{needs: gig})
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE resource_requirements SET runtime = 'PT1M', memory = '1g'`)
	})
	r.storePolicy(workflow.RetryPolicy{Name: "memory", Rules: []workflow.RetryRule{{
		ID: "oom", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseOOM}}, Action: workflow.ActionRetry,
		Mutate: &workflow.Mutation{Memory: &workflow.Growth{Factor: 2, Max: "3g"}},
	}}})
	r.usePolicies(`{"retry_policies": ["memory"]}`)
	h := r.hand("n1", 3)
	h.turn()
	oom := func(ref lease.LeaseRef) lease.Report {
		rep := exited(ref, 0)
		rep.Evidence = workflow.Evidence{Signal: 9, OOMKills: 1, PeakMemoryBytes: 1 << 30}
		return rep
	}
	h.free.Slots = 0
	h.turn(oom(h.held[0].LeaseRef), oom(h.held[1].LeaseRef))
	want := []string{"2g PT1M 2147483648", "2g PT1M 2147483648", "1g PT1M 1073741824"}
	if diff := cmp.Diff(want, []string{r.requested(0), r.requested(1), r.requested(2)}); diff != "" {
		t.Errorf("after one failure (-want +got):\n%s", diff)
	}
	if n := r.number(`SELECT COUNT(*) FROM resource_requirements WHERE workflow_id = ?`, r.workflow); n != 2 {
		t.Errorf("%d requirements, want 2: those of jobs that grow alike are shared", n)
	}
	h.free.Slots = 1
	h.turn()
	h.free.Slots = 0
	h.turn(oom(h.held[len(h.held)-1].LeaseRef))
	if got := r.requested(0); !strings.HasPrefix(got, "3g ") {
		t.Errorf("after two failures it asks for %s, the cap is 3g", got)
	}
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	if got := attempts[0].Decision.Reason; !strings.HasSuffix(got, "memory 1g -> 2g") {
		t.Errorf("reason: %s", got)
	}
	r.check()
	r.sound(check.Witness{})
}
