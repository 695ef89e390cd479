package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestPolicyRefJSON(t *testing.T) {
	for _, tc := range []struct {
		text string
		want PolicyRef
	}{
		{`"site"`, PolicyRef{Name: "site"}},
		{`{"name":"own","rules":[{"id":"a","when":{"cause":["oom"]},"action":"retry"}]}`,
			PolicyRef{Policy: &RetryPolicy{Name: "own", Rules: []RetryRule{{ID: "a", When: RuleMatch{Cause: []CauseKind{CauseOOM}}, Action: ActionRetry}}}}},
	} {
		// What was there before is gone.
		got := PolicyRef{Name: "old", Policy: &RetryPolicy{Name: "old", DefaultAction: ActionHold}}
		if err := json.Unmarshal([]byte(" "+tc.text), &got); err != nil {
			t.Errorf("%s: %v", tc.text, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.text, diff)
		}
		back, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var again PolicyRef
		if err := json.Unmarshal(back, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, again); diff != "" {
			t.Errorf("written as %s: -want +got:\n%s", back, diff)
		}
	}
	for _, text := range []string{`{"name":"p","retries":3}`, `7`, `["site"]`} {
		var r PolicyRef
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s is taken for %+v", text, r)
		}
	}
}
