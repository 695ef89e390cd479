package workflow_test

import (
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestCriterionIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"done > 1":                 "done",
		`attempts_by("fire") == 0`: `unknown cause "fire"`,
		"completed > total + 1":    "this can never be true",
	} {
		found := (&RunPolicy{End: &EndPolicy{SuccessIf: text}}).Validate()
		if len(found) != 1 || found[0].Path != "end.success_if" || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %+v", text, found)
		}
	}
}
