package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// checkProblems compares problems with lines of "path: message", and wants a hint
// with each.
func checkProblems(t *testing.T, name string, found []Problem, want ...string) {
	t.Helper()
	var got []string
	for _, p := range found {
		got = append(got, p.Path+": "+p.Message)
		if p.Hint == "" {
			t.Errorf("%s: no hint for %s: %s", name, p.Path, p.Message)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}

func TestPoliciesOfAWorkflowAreChecked(t *testing.T) {
	rule := RetryRule{ID: "r", Action: "again"}
	for _, tc := range []struct {
		name string
		p    RunPolicy
		want []string
	}{
		{"stored and written down", RunPolicy{RetryPolicies: []PolicyRef{{Name: "site"}, {Policy: &RetryPolicy{Name: "own", DefaultAction: ActionFail}}}}, nil},
		{"no name", RunPolicy{RetryPolicies: []PolicyRef{{Name: "a b"}}}, []string{`retry_policies[0]: invalid name "a b" of a policy`}},
		{"one name for two", RunPolicy{RetryPolicies: []PolicyRef{{Name: "p"}, {Policy: &RetryPolicy{Name: "p", DefaultAction: ActionFail}}}},
			[]string{"retry_policies[1]: duplicate policy p"}},
		{"a wrong rule", RunPolicy{RetryPolicies: []PolicyRef{{Name: "p"}, {Policy: &RetryPolicy{Name: "q", Rules: []RetryRule{rule}}}}},
			[]string{`retry_policies[1].rules[0].action: invalid value "again" of action`}},
		{"no failures at all", RunPolicy{MaxFailures: ptr(int64(0))}, []string{"max_failures: invalid number of failed jobs: 0"}},
		{"too many failures", RunPolicy{MaxFailures: ptr(int64(MaxFailureLimit + 1))}, []string{"max_failures: invalid number of failed jobs: 10000001"}},
		{"as many as are taken", RunPolicy{MaxFailures: ptr(int64(MaxFailureLimit))}, nil},
	} {
		checkProblems(t, tc.name, tc.p.Validate(), tc.want...)
	}
	if found := (*RunPolicy)(nil).Validate(); found != nil {
		t.Errorf("no policy: %v", found)
	}
}

// TestProblemsError: a user hears of all problems at once, and of each hint once.
func TestProblemsError(t *testing.T) {
	err := ProblemsError("job a", []Problem{{Path: "x", Message: "is wrong", Hint: "write 1"}, {Message: "is odd", Hint: "write 1"}, {Path: "y", Message: "is bad", Hint: "write 2"}})
	if err == nil || CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), "job a: x: is wrong\njob a: is odd\njob a: y: is bad") || strings.Count(err.Error(), "write 1") != 1 {
		t.Errorf("%v", err)
	}
	if err := ProblemsError("job a", nil); err != nil {
		t.Errorf("no problem: %v", err)
	}
}
