package api

import (
	"encoding/json"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// An update removes what is null, and leaves the rest unchanged.
func TestWorkflowUpdate(t *testing.T) {
	most := int64(3)
	given := Workflow{Name: "w", User: "u", Metadata: Object(`{"id": 12345678901234567890, "x": 1.50}`)}
	limited := given
	limited.Policy = &workflow.RunPolicy{MaxFailures: &most, End: &workflow.EndPolicy{SuccessIf: "failed < 9"}}
	const rest = `"metadata":{"id":12345678901234567890,"x":1.50},"name":"w","policy":`
	for _, tc := range []struct {
		w     Workflow
		unset []string
		want  string
	}{
		{given, []string{"max_failures"}, rest + `{"max_failures":null},"user":"u"`},
		{given, []string{"end", "end.success_if"}, rest + `{"end":null},"user":"u"`},
		{given, []string{"end.success_if", "deadline"}, rest + `{"deadline":null,"end":{"success_if":null}},"user":"u"`},
		{limited, []string{"end.success_if"}, rest + `{"end":{"success_if":null},"max_failures":3},"user":"u"`},
	} {
		text, err := json.Marshal(WorkflowUpdate{Workflow: tc.w, UnsetPolicy: tc.unset})
		if want := "{" + tc.want + "}"; err != nil || string(text) != want {
			t.Errorf("%v: %s, %v, want %s", tc.unset, text, err, want)
		}
		var back WorkflowUpdate
		if err := json.Unmarshal(text, &back); err != nil || len(back.UnsetPolicy) == 0 {
			t.Errorf("%v comes back as %v, %v", tc.unset, back.UnsetPolicy, err)
		}
	}
}
