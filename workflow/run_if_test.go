package workflow_test

import (
	"encoding/json"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// TestRunIf: names and numbers are in specifications and in the database, so they
// stay what they are.
func TestRunIf(t *testing.T) {
	for name, want := range map[string]RunIf{"success": 0, "always": 1, "failure": 2} {
		got, err := ParseRunIf(name)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
		text, err := json.Marshal(want)
		if err != nil || string(text) != `"`+name+`"` {
			t.Errorf("%s is written as %s, %v", name, text, err)
		}
		var back RunIf
		if err := json.Unmarshal(text, &back); err != nil || back != want {
			t.Errorf("%s is read as %d, %v", text, back, err)
		}
		// A torc client knows two of them: what runs after a failure is not canceled by it.
		if want.CancelOnFailure() != (want == RunIfSuccess) || RunIfOf(want == RunIfSuccess).CancelOnFailure() != (want == RunIfSuccess) {
			t.Errorf("%s cancels on failure: %v", name, want.CancelOnFailure())
		}
	}
	if got, err := ParseRunIf(""); err != nil || got != RunIfSuccess {
		t.Errorf("not given: %s, %v", got, err)
	}
	kept := RunIfFailure
	if err := kept.UnmarshalText([]byte("never")); CodeOf(err) != CodeInvalid || kept != RunIfFailure {
		t.Errorf("a word that is none: %s, %v", kept, err)
	}
	if got := RunIf(9).String(); got != "run_if(9)" {
		t.Errorf("a number that is none: %q", got)
	}
}
