package server

import (
	"fmt"
	"testing"
)

// heldJob creates a job that waits for a decision and returns its path.
func (a *testAPI) heldJob(w int64) string {
	a.t.Helper()
	path := fmt.Sprintf("/jobs/%v", a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id": %d, "name": "j", "command": "true"}`, w))["id"])
	run := a.must("GET", fmt.Sprintf("/workflows/%d", w), "")["run_id"]
	a.must("PUT", fmt.Sprintf("%s/manage_status_change/pending_failed/%v", path, run), "")
	return path
}

// The status of a held job can be set to ready or failed, and to nothing else.
func TestUpdateOfHeldJobClassifies(t *testing.T) {
	a := newAPI(t)
	for _, to := range []string{"ready", "failed"} {
		w := a.workflow()
		path := a.heldJob(w)
		body := func(status string) string {
			return fmt.Sprintf(`{"workflow_id": %d, "name": "j", "command": "true", "status": %q}`, w, status)
		}
		a.send("PUT", path, body("completed")).want(422)
		if got := a.must("PUT", path, body(to)); got["status"] != to {
			t.Errorf("%s: %v", to, got["status"])
		}
		a.send("GET", path+"/why", "").want(200, "classified as "+to)
	}
}

func TestResolveHolds(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	a.heldJob(w)
	group := a.must("GET", fmt.Sprintf("/holds?workflow_id=%d", w), "")["groups"].([]any)[0].(map[string]any)
	resolve := fmt.Sprintf("/workflows/%d/resolve_holds", w)
	for _, body := range []string{
		`{"status": "ready", "reason": "x"}`, `{"status": "ready", "all": true, "job_ids": [1], "reason": "x"}`,
		`{"status": "ready", "all": true, "reason": ""}`, `{"status": "completed", "all": true, "reason": "x"}`,
	} {
		a.send("POST", resolve, body).want(422)
	}
	a.send("POST", "/workflows/999/resolve_holds", `{"status": "ready", "all": true, "reason": "x"}`).want(404)
	a.send("POST", resolve, `{"status": "failed", "job_ids": [999], "reason": "x"}`).want(200, "has no job 999", `"resolved":false`)
	a.send("POST", resolve, fmt.Sprintf(`{"status": "ready", "fingerprint": %q, "reason": "disk full", "author": "ann"}`, group["fingerprint"])).
		want(200, `"resolved":true`, `"status":"ready"`)
	a.send("GET", fmt.Sprintf("/jobs/%v/why", group["example_id"]), "").want(200, "by ann", "disk full")
	if groups := a.must("GET", "/holds", "")["groups"].([]any); len(groups) != 0 {
		t.Errorf("still held: %v", groups)
	}
}

// TestHoldVerdicts: each entry has an answer of its own.
func TestHoldVerdicts(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	a.heldJob(w)
	path := fmt.Sprintf("/workflows/%d/hold_verdicts", w)
	body := func(dry bool) string {
		return fmt.Sprintf(`{"dry_run": %v, "verdicts": [{"job": "x", "action": "fail", "reason": "r"}, {"job": "j", "action": "retry", "reason": "disk full"}]}`, dry)
	}
	outcome := []string{`"entry":0,"resolved":false`, `has no job \"x\"`, `"entry":1,"resolved":true`, `"status":"ready"`}
	a.send("POST", path, body(true)).want(200, outcome...)
	a.send("GET", fmt.Sprintf("/holds?workflow_id=%d", w), "").want(200, `"count":1`)
	a.send("POST", path, body(false)).want(200, outcome...)
	a.send("GET", fmt.Sprintf("/holds?workflow_id=%d", w), "").want(200, `"groups":[]`)
	a.send("POST", path, `{"verdicts": []}`).want(422, "empty")
	a.send("POST", "/workflows/999/hold_verdicts", body(false)).want(404)
}
