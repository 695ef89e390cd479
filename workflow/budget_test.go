package workflow

import "testing"

// The reason of a retry names the limit that is reached first.
func TestRetryNamesItsLimit(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	failed := Failure{Cause: Cause{Kind: CauseExit, Status: Failed, ReturnCode: 7, Text: "exit code 7"}}
	rule := func(limit, ofPolicy *int64) []RetryPolicy {
		return []RetryPolicy{{Name: "p", RetryLimit: ofPolicy, Rules: []RetryRule{{ID: "r", Action: ActionRetry, Limit: limit}}}}
	}
	handler := &FailureHandlerDefinition{Name: "h", Rules: []FailureRule{{MatchAllExitCodes: true, MaxRetries: 50}}}
	for name, tt := range map[string]struct {
		p    Policies
		h    History
		want string
	}{
		"the rule's":                 {Policies{Job: rule(n(3), nil)}, History{AttemptID: 1}, "rule p/r: exit, retry 1 of 3"},
		"the policy's":               {Policies{Job: rule(nil, n(5))}, History{AttemptID: 1}, "rule p/r: exit, retry 1 of 5 (retry_limit)"},
		"nobody's":                   {Policies{Job: rule(nil, nil)}, History{AttemptID: 1}, "rule p/r: exit, retry 1 of 20 (global_max_retries)"},
		"more than all":              {Policies{Job: rule(n(50), nil)}, History{AttemptID: 1}, "rule p/r: exit, retry 1 of 20 (global_max_retries)"},
		"other rules were first":     {Policies{Job: rule(n(3), nil), GlobalMaxRetries: n(6)}, History{AttemptID: 6, CountedFails: 5}, "rule p/r: exit, retry 6 of 6 (global_max_retries)"},
		"other jobs were first":      {Policies{Job: rule(n(3), nil), MaxRetriesTotal: n(9)}, History{AttemptID: 1, WorkflowRetries: 8}, "rule p/r: exit, retry 9 of 9 (max_retries_total of the workflow)"},
		"a handler's":                {Policies{Handler: handler}, History{AttemptID: 1}, "rule 1 of handler h: exit code 7, attempt 1 of 50"},
		"more than a handler may":    {Policies{Handler: handler, GlobalMaxRetries: n(4)}, History{AttemptID: 3, CountedFails: 2}, "rule 1 of handler h: exit code 7, attempt 3 of 50, retry 3 of 4 (global_max_retries)"},
		"all of the policy's":        {Policies{Job: rule(nil, n(1))}, History{AttemptID: 2, CountedFails: 1, Rules: map[string]RuleCount{"p/r": {Counted: 1}}}, "rule p/r: exit, all 1 retry used (retry_limit)"},
		"the switch":                 {Policies{Job: rule(nil, nil), GlobalMaxRetries: n(0)}, History{AttemptID: 1}, "rule p/r: exit, no retry is granted (global_max_retries)"},
		"a rule that grants none":    {Policies{Job: rule(n(0), nil)}, History{AttemptID: 1}, "rule p/r: exit, no retry is granted"},
		"the last attempt of a rule": {Policies{Job: rule(n(1), nil)}, History{AttemptID: 2, CountedFails: 1, Rules: map[string]RuleCount{"p/r": {Counted: 1}}}, "rule p/r: exit, all 1 retry used"},
	} {
		if got := Decide(tt.p, tt.h, failed).Reason; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	p := Policies{Job: rule(n(50), nil)}
	f := RetryFacts{Rules: map[string]RuleCount{"p/r": {Counted: 2}}, Counted: 2, Policies: p}
	if got := f.lines(0); len(got) != 1 || got[0] != "p/r: 2 of 20 (global_max_retries)" {
		t.Errorf("what was used: %q", got)
	}
}
