package server

import (
	"fmt"
	"testing"
)

// TestPolicyNulls: an absent key of the policy stays, one that is null is removed.
func TestPolicyNulls(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	path := fmt.Sprintf("/workflows/%d", w)
	put := func(policy string) answer {
		return a.send("PUT", path, fmt.Sprintf(`{"name": "w", "user": "me", "policy": %s}`, policy))
	}
	put(`{"max_failures": 5, "classify_timeout": {"after": "1h"}, "end": {"success_if": "failed < 9"}}`).want(200)
	put(`{"max_failures": null}`).want(200, `"classify_timeout"`, `"success_if"`)
	put(`{"end": {"success_if": null}}`).want(200, `"policy":{"classify_timeout":{"after":"1h"}}`)
	put(`null`).want(200, `"classify_timeout"`)
	put(`{"max_failure": null}`).want(422, "did you mean max_failures?")
	if _, there := a.must("PUT", path, `{"name": "w", "user": "me", "policy": {"classify_timeout": null}}`)["policy"]; there {
		t.Error("an empty policy is left")
	}
}
