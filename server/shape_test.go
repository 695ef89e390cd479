package server

import (
	"fmt"
	"testing"
)

// TestMisspeltKeys: a misspelt key in a policy would have no effect, and in a request it
// would change what is done.
func TestMisspeltKeys(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	a.heldJob(w)
	put := func(policy string) answer {
		return a.send("PUT", fmt.Sprintf("/workflows/%d", w), fmt.Sprintf(`{"name": "w", "user": "me", "policy": %s}`, policy))
	}
	put(`{"max_failure": 3}`).want(422, "unknown field `max_failure` in policy, did you mean max_failures?")
	put(`{"circuit_breakers": [{"per": "workflow", "threshold": 1, "within": "PT1H", "action": "pause", "form": "PT1H"}]}`).
		want(422, "unknown field `form` in policy.circuit_breakers[0], did you mean for?")
	put(`{"end": {"success_when": "failed < 9"}}`).want(422, "unknown field `success_when` in policy.end")
	held := fmt.Sprintf("/workflows/%d/", w)
	a.send("POST", held+"hold_verdicts", `{"verdicts": [{"job": "j", "action": "fail", "reason": "r"}], "dryrun": true}`).want(422, "`dryrun`")
	a.send("POST", held+"hold_verdicts", `{"verdicts": [{"job": "j", "action": "retry", "reason": "r", "mem": "1g"}]}`).want(422, "`mem` in verdicts[0]")
	a.send("POST", held+"resolve_holds", `{"all": true, "status": "failed", "reason": "r", "dryrun": true}`).want(422, "`dryrun`")
	a.send("POST", held+"release_claims", `{"kinds": "breaker"}`).want(422, "`kinds`")
	a.send("POST", "/breakers/reset", `{"all": true, "nodes": "n1"}`).want(422, "`nodes`")
	a.send("GET", fmt.Sprintf("/holds?workflow_id=%d", w), "").want(200, `"count":1`)
}

// Unknown workflows and kinds are errors.
func TestWhatIsNotThere(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	a.send("POST", "/breakers/reset", `{"workflow_id": 999}`).want(404, "Workflow not found with ID: 999")
	a.send("POST", "/breakers/reset", fmt.Sprintf(`{"workflow_id": %d}`, w)).want(200, `"breakers":[]`)
	a.send("GET", "/workflows/999/failed_workflow", "").want(404, "Workflow not found with ID: 999")
	a.send("GET", fmt.Sprintf("/workflows/%d/failed_workflow", w), "").want(404, "has no compensation")
	a.send("POST", fmt.Sprintf("/workflows/%d/release_claims", w), `{"kind": "x"}`).want(422, "the kinds are max_failures, breaker, deadline")
}
