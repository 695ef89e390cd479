package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

func TestExplainRetries(t *testing.T) {
	three, five, total := int64(3), int64(5), int64(100)
	f := RetryFacts{
		Rules:   map[string]workflow.RuleCount{"io/busy": {Counted: 2}, "default/preempted": {Free: 4}, "old/rule": {Counted: 1}, "handler:h/1": {Counted: 1}},
		Counted: 4, OfAllJobs: 17, Avoided: []workflow.AvoidedNode{{Node: "n1"}, {Node: "n2", UntilMS: 61_000}, {Node: "n3", UntilMS: 999}},
		Policies: retry.Policies{
			Job:              []workflow.RetryPolicy{{Name: "io", RetryLimit: &three, Rules: []workflow.RetryRule{{ID: "busy", Action: workflow.ActionRetry}}}},
			Handler:          &workflow.FailureHandlerDefinition{Name: "h", Rules: []workflow.FailureRule{{ExitCodes: []int64{7}, MaxRetries: 3}}},
			Default:          retry.DefaultPolicy(),
			GlobalMaxRetries: &five, MaxRetriesTotal: &total,
		},
	}
	want := []string{
		"default/preempted: 4 of 50 free",
		"handler:h/1: 1 of 2",
		"io/busy: 2 of 3 (retry_limit)",
		"old/rule: 1, by a rule that no longer exists",
		"of this job: 4 of 5 (global_max_retries)",
		"of all jobs: 17 of 100 (max_retries_total)",
		"avoids n1",
		"avoids n2 for another 1m",
	}
	if diff := cmp.Diff(want, f.lines(1000)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUsedNamesItsLimit checks that the text names the limit that is reached first.
func TestUsedNamesItsLimit(t *testing.T) {
	limit := int64(50)
	p := retry.Policies{Job: []workflow.RetryPolicy{{Name: "p", Rules: []workflow.RetryRule{{ID: "r", Action: workflow.ActionRetry, Limit: &limit}}}}}
	f := RetryFacts{Rules: map[string]workflow.RuleCount{"p/r": {Counted: 2}}, Counted: 2, Policies: p}
	if got := f.lines(0); len(got) != 1 || got[0] != "p/r: 2 of 20 (global_max_retries)" {
		t.Errorf("what was used: %q", got)
	}
}
