package workflow

import (
	"encoding/json"
	"testing"
)

// TestFailureRuleAsTorcReadsIt: torc's runner takes no null for exit_codes.
func TestFailureRuleAsTorcReadsIt(t *testing.T) {
	text, err := json.Marshal([]FailureRule{{MatchAllExitCodes: true, MaxRetries: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"exit_codes":[],"match_all_exit_codes":true,"max_retries":2}]`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	h := FailureHandler{Name: "h", Rules: string(text)}
	d, err := h.Definition()
	if err != nil {
		t.Fatal(err)
	}
	if r := d.Rules[0]; !r.MatchAllExitCodes || r.MaxRetries != 2 {
		t.Errorf("read back: %+v", r)
	}
}
