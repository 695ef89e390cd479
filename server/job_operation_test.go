package server

import (
	"fmt"
	"testing"
)

// TestJobOperations: jobs are chosen in one request, and one job is canceled by its id.
func TestJobOperations(t *testing.T) {
	a := newAPI(t)
	w, other := a.workflow(), a.workflow()
	job := func(w any, name string) any {
		return a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id": %v, "name": %q, "command": "true"}`, w, name))["id"]
	}
	first := job(w, "a1")
	job(w, "a2")
	elsewhere := job(other, "x")
	a.must("POST", fmt.Sprintf("/workflows/%v/initialize_jobs", w), "")
	of := func(verb string) string { return fmt.Sprintf("/workflows/%v/%s_jobs", w, verb) }
	for _, tc := range []struct {
		path, body string
		status     int
		says       string
	}{
		{of("hold"), `{}`, 422, "no jobs are chosen"},
		{of("hold"), `{"jobs": ["a3"]}`, 404, `no job \"a3\"`},
		{of("hold"), fmt.Sprintf(`{"jobs": ["%v"]}`, elsewhere), 404, "belongs to workflow"},
		{of("hold"), `{"statuses": ["tired"]}`, 422, ""},
		{"/workflows/999/hold_jobs", `{"all": true}`, 404, ""},
		{of("prioritize"), `{"all": true}`, 422, "either priority or first"},
		{of("prioritize"), `{"all": true, "priority": 1, "first": true}`, 422, "either priority or first"},
		{of("prioritize"), `{"all": true, "priority": -1}`, 422, "must not be negative"},
		{"/jobs/999/cancel", `{}`, 404, ""},
		{fmt.Sprintf("/jobs/%v/cancel", elsewhere), `{}`, 409, "not part of a run yet"},
		{of("hold"), `{"jobs": ["a*"], "reason": "later", "dry_run": true}`, 200, `"effect":"changed"`},
		{of("hold"), `{"jobs": ["a*"], "reason": "later"}`, 200, `"effect":"changed"`},
		{of("hold"), `{"jobs": ["a*"]}`, 200, `"effect":"unchanged"`},
		{of("release"), `{"statuses": ["ready"]}`, 200, `"effect":"changed"`},
		{of("prioritize"), `{"jobs": ["a2"], "first": true}`, 200, `"priority":1`},
		{fmt.Sprintf("/jobs/%v/cancel", first), `{"dry_run": true}`, 200, `"effect":"changed"`},
		{fmt.Sprintf("/jobs/%v/cancel", first), `{"reason": "wrong"}`, 200, `"effect":"changed"`},
		{fmt.Sprintf("/jobs/%v/cancel", first), `{}`, 200, `"effect":"unchanged"`},
		{of("cancel"), `{"all": true, "dry_run": true}`, 200, `"ends_run":true`},
		{of("cancel"), `{"all": true}`, 200, `"ends_run":true`},
	} {
		a.send("POST", tc.path, tc.body).want(tc.status, tc.says)
	}
	a.send("GET", fmt.Sprintf("/jobs/%v/why", first), "").want(200, "canceled by", "wrong")
	a.send("GET", fmt.Sprintf("/workflows/%v/is_complete", w), "").want(200, `"is_complete":true`)
}

// TestPauseWorkflow: a pause twice is once, and a dry run is none.
func TestPauseWorkflow(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id": %v, "name": "j", "command": "true"}`, w))
	a.must("POST", fmt.Sprintf("/workflows/%v/initialize_jobs", w), "")
	pause := fmt.Sprintf("/workflows/%v/pause", w)
	a.send("POST", pause, `{"dry_run": true}`).want(200, `"began":true`)
	a.send("POST", pause, `{"reason": "maintenance"}`).want(200, `"began":true`, `"kind":"pause"`)
	a.send("POST", pause, `{"now": true}`).want(200, `"began":false`, "maintenance", `"ending":0`)
	a.send("GET", fmt.Sprintf("/workflows/%v", w), "").want(200, `"claims_held":"paused by`)
	a.send("POST", fmt.Sprintf("/workflows/%v/claim_next_jobs?limit=1", w), "").want(200, `"jobs":[]`)
	a.send("POST", fmt.Sprintf("/workflows/%v/release_claims", w), `{"kind": "pause"}`).want(200, `"released":1`)
	a.send("POST", fmt.Sprintf("/workflows/%v/claim_next_jobs?limit=1", w), "").want(200, `"name":"j"`)
	a.send("POST", "/workflows/999/pause", `{}`).want(404)
	a.must("PUT", fmt.Sprintf("/workflows/%v/cancel", w), "")
	a.send("POST", pause, `{}`).want(409, "is canceled")
}
