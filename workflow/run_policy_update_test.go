package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// TestPolicyUpdates: what is given replaces, what is absent stays, what is unset
// goes, and the policy that it was made of does not change.
func TestPolicyUpdates(t *testing.T) {
	const before = `{"max_failures":5,"end":{"success_if":"failed == 0","job":{"command":"true"}},"deadline":{"after":"P1D"}}`
	for _, tc := range []struct {
		name, change string
		unset        []string
		want         string
	}{
		{"nothing", `{}`, nil, before},
		{"one", `{"max_failures":7}`, nil, strings.Replace(before, "5", "7", 1)},
		{"the condition", `{"end":{"success_if":"failed < 3"}}`, nil, strings.Replace(before, "failed == 0", "failed \\u003c 3", 1)},
		{"unset", `{}`, []string{"max_failures", "deadline"}, `{"end":{"success_if":"failed == 0","job":{"command":"true"}}}`},
		{"unset the condition", `{}`, []string{"end.success_if", "deadline"}, `{"max_failures":5,"end":{"job":{"command":"true"}}}`},
		{"unset what is not there", `{}`, []string{"notify"}, before},
	} {
		var p, change RunPolicy
		read := func(text string, into *RunPolicy) {
			t.Helper()
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		read(before, &p)
		read(tc.change, &change)
		old := p
		p.Merge(&change)
		if err := p.Unset(tc.unset); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		var want RunPolicy
		read(tc.want, &want)
		got, _ := json.Marshal(p)
		if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
			t.Errorf("%s: %s, want %s", tc.name, got, wanted)
		}
		if old.End.SuccessIf != "failed == 0" || old.End.Job == nil {
			t.Errorf("%s: the former policy has changed: %+v", tc.name, old.End)
		}
	}
	err := (&RunPolicy{}).Unset([]string{"max_failure"})
	if err == nil || !strings.Contains(err.Error(), `unknown policy key "max_failure"`) {
		t.Errorf("%v", err)
	}
}

func TestUnknownJobs(t *testing.T) {
	p := &RunPolicy{End: &EndPolicy{SuccessIf: `failed_in("trian") == 0 && failed_in("prep_*") == 0 && attempts_by("oom") == 0`}}
	if found := p.UnknownJobs([]string{"train"}); len(found) != 1 || found[0].Message != `no job is named "trian"` || found[0].Hint != "did you mean train?" {
		t.Errorf("%+v", found)
	}
	if found := (*RunPolicy)(nil).UnknownJobs(nil); found != nil {
		t.Errorf("%+v", found)
	}
}
