package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

func TestSimulateRetries(t *testing.T) {
	r := newRig(t, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 4}}, rigJob{})
	r.usePolicies(`{"retry_policies":[{"name":"io","rules":[{"id":"busy","action":"retry","limit":2}]}]}`)
	h := r.hand("n1", 1)
	h.fails(75, 75, 75)
	h.turn()
	later := exited(h.held[0].LeaseRef, 9)
	firstEnd := later.EndedMS
	later.StartedMS, later.EndedMS = firstEnd, firstEnd+3_600_000
	h.turn(later)

	simulate := func(id, since int64) retry.RetrySimulation {
		t.Helper()
		s, err := r.Policies.Simulate(r.ctx, []workflow.RetryPolicy{retryExit("new", "busy", 75, 1)}, id, since)
		r.must(err)
		return s
	}
	all := simulate(r.workflow, 0)
	if all.Recorded.Attempts != 4 || all.Simulated.Attempts != 3 || all.Sequences != 2 {
		t.Errorf("of the workflow: %+v", all)
	}
	want := []retry.RuleGrants{
		{Rule: "io/busy", Recorded: workflow.RuleCount{Counted: 3}},
		{Rule: "new/busy", Simulated: workflow.RuleCount{Counted: 1}},
	}
	if diff := cmp.Diff(want, all.Rules); diff != "" {
		t.Error(diff)
	}
	if s := simulate(0, firstEnd); s.Recorded.Attempts != 4 {
		t.Errorf("since the first job ended: %+v", s)
	}
	if s := simulate(0, firstEnd+1); s.Recorded.Attempts != 1 || s.Recorded.CoreHours != 1 {
		t.Errorf("since the first job had ended: %+v", s)
	}
	if _, err := r.Policies.Simulate(r.ctx, nil, 99, 0); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("of a workflow that is not there: %v", err)
	}
	twice := []workflow.RetryPolicy{retryExit("a", "x", 1, 1), retryExit("a", "y", 2, 1)}
	if _, err := r.Policies.Simulate(r.ctx, twice, r.workflow, 0); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("two policies of one name: %v", err)
	}
}
