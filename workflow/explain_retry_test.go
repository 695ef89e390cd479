package workflow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplainRetries(t *testing.T) {
	three, five, total := int64(3), int64(5), int64(100)
	f := RetryFacts{
		Rules:   map[string]RuleCount{"io/busy": {Counted: 2}, "default/preempted": {Free: 4}, "old/rule": {Counted: 1}, "handler:h/1": {Counted: 1}},
		Counted: 4, OfAllJobs: 17, Avoided: []AvoidedNode{{Node: "n1"}, {Node: "n2", UntilMS: 61_000}, {Node: "n3", UntilMS: 999}},
		Policies: Policies{
			Job:              []RetryPolicy{{Name: "io", RetryLimit: &three, Rules: []RetryRule{{ID: "busy", Action: ActionRetry}}}},
			Handler:          &FailureHandlerDefinition{Name: "h", Rules: []FailureRule{{ExitCodes: []int64{7}, MaxRetries: 3}}},
			Default:          DefaultPolicy(),
			GlobalMaxRetries: &five, MaxRetriesTotal: &total,
		},
	}
	want := []string{
		"default/preempted: 4 of 50 free",
		"handler:h/1: 1 of 2",
		"io/busy: 2 of 3 (retry_limit)",
		"old/rule: 1, by a rule that is not there any more",
		"of this job: 4 of 5 (global_max_retries)",
		"of all jobs: 17 of 100 (max_retries_total)",
		"keeps away from n1",
		"keeps away from n2 for 1m",
	}
	if diff := cmp.Diff(want, f.lines(1000)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
