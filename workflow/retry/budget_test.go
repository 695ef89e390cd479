package retry

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The reason of a retry names the limit that is reached first.
func TestRetryNamesItsLimit(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	failed := workflow.Failure{Cause: workflow.Cause{Kind: workflow.CauseExit, Status: workflow.Failed, ReturnCode: 7, Text: "exit code 7"}}
	rule := func(limit, ofPolicy *int64) []workflow.RetryPolicy {
		return []workflow.RetryPolicy{{Name: "p", RetryLimit: ofPolicy, Rules: []workflow.RetryRule{{ID: "r", Action: workflow.ActionRetry, Limit: limit}}}}
	}
	handler := &workflow.FailureHandlerDefinition{Name: "h", Rules: []workflow.FailureRule{{MatchAllExitCodes: true, MaxRetries: 50}}}
	for name, tt := range map[string]struct {
		p    Policies
		h    workflow.History
		want string
	}{
		"the rule's":                 {Policies{Job: rule(n(3), nil)}, workflow.History{AttemptID: 1}, "rule p/r: exit, retry 1 of 3"},
		"the policy's":               {Policies{Job: rule(nil, n(5))}, workflow.History{AttemptID: 1}, "rule p/r: exit, retry 1 of 5 (retry_limit)"},
		"nobody's":                   {Policies{Job: rule(nil, nil)}, workflow.History{AttemptID: 1}, "rule p/r: exit, retry 1 of 20 (global_max_retries)"},
		"more than all":              {Policies{Job: rule(n(50), nil)}, workflow.History{AttemptID: 1}, "rule p/r: exit, retry 1 of 20 (global_max_retries)"},
		"other rules were first":     {Policies{Job: rule(n(3), nil), GlobalMaxRetries: n(6)}, workflow.History{AttemptID: 6, CountedFails: 5}, "rule p/r: exit, retry 6 of 6 (global_max_retries)"},
		"other jobs were first":      {Policies{Job: rule(n(3), nil), MaxRetriesTotal: n(9)}, workflow.History{AttemptID: 1, WorkflowRetries: 8}, "rule p/r: exit, retry 9 of 9 (max_retries_total of the workflow)"},
		"a handler's":                {Policies{Handler: handler}, workflow.History{AttemptID: 1}, "rule 1 of handler h: exit code 7, attempt 1 of 50"},
		"more than a handler may":    {Policies{Handler: handler, GlobalMaxRetries: n(4)}, workflow.History{AttemptID: 3, CountedFails: 2}, "rule 1 of handler h: exit code 7, attempt 3 of 50, retry 3 of 4 (global_max_retries)"},
		"all of the policy's":        {Policies{Job: rule(nil, n(1))}, workflow.History{AttemptID: 2, CountedFails: 1, Rules: map[string]workflow.RuleCount{"p/r": {Counted: 1}}}, "rule p/r: exit, all 1 retry used (retry_limit)"},
		"the switch":                 {Policies{Job: rule(nil, nil), GlobalMaxRetries: n(0)}, workflow.History{AttemptID: 1}, "rule p/r: exit, no retries are allowed (global_max_retries)"},
		"a rule that grants none":    {Policies{Job: rule(n(0), nil)}, workflow.History{AttemptID: 1}, "rule p/r: exit, no retries are allowed"},
		"the last attempt of a rule": {Policies{Job: rule(n(1), nil)}, workflow.History{AttemptID: 2, CountedFails: 1, Rules: map[string]workflow.RuleCount{"p/r": {Counted: 1}}}, "rule p/r: exit, all 1 retry used"},
	} {
		if got := decide(tt.p, tt.h, failed).Reason; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
