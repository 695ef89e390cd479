package server

import (
	"fmt"
	"testing"
)

// run_if and torc's key express the same; a torc client that sends back its own changes
// nothing.
func TestRunIf(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	create := func(more string) map[string]any {
		return a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id": %d, "name": "j", "command": "true"%s}`, w, more))
	}
	for _, tt := range []struct {
		sent   string
		runIf  any
		cancel bool
	}{
		{``, nil, true},
		{`, "cancel_on_blocking_job_failure": false`, nil, false},
		{`, "run_if": "failure"`, "failure", false},
		{`, "run_if": "always", "cancel_on_blocking_job_failure": true`, nil, false},
		{`, "run_if": "success", "cancel_on_blocking_job_failure": false`, nil, true},
	} {
		path := fmt.Sprintf("/jobs/%v", create(tt.sent)["id"])
		got := a.must("GET", path, "")
		if got["run_if"] != tt.runIf || got["cancel_on_blocking_job_failure"] != tt.cancel {
			t.Errorf("sent %q: %v, %v", tt.sent, got["run_if"], got["cancel_on_blocking_job_failure"])
		}
		got = a.must("PUT", path, fmt.Sprintf(`{"workflow_id": %d, "name": "j", "command": "true", "cancel_on_blocking_job_failure": %t}`, w, tt.cancel))
		if got["run_if"] != tt.runIf {
			t.Errorf("sent back %t: %v, was %v", tt.cancel, got["run_if"], tt.runIf)
		}
	}
	path := fmt.Sprintf("/jobs/%v", create("")["id"])
	if got := a.must("PUT", path, fmt.Sprintf(`{"workflow_id": %d, "name": "j", "command": "true", "run_if": "failure"}`, w)); got["run_if"] != "failure" {
		t.Errorf("changed: %v", got["run_if"])
	}
}

// What a workflow says about its end is checked without a specification, too.
func TestEndPolicyIsChecked(t *testing.T) {
	a := newAPI(t)
	a.must("POST", "/workflows", `{"name": "w", "user": "me", "policy": {"end": {"success_if": "failed < 3"}}}`)
	for _, policy := range []string{`{"end": {"success_if": "complete > 3"}}`, `{"end": {"success_if": "completed > total"}}`,
		`{"cancel_siblings_on": [{}]}`, `{"cancel_siblings_on": [{"cause": "omm"}]}`} {
		if got := a.send("POST", "/workflows", `{"name": "w", "user": "me", "policy": `+policy+`}`); got.status != 422 {
			t.Errorf("%s: %d", policy, got.status)
		}
	}
}
