package workflow_test

import (
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestStageDefinitionIsChecked(t *testing.T) {
	for _, tc := range []struct {
		name string
		d    StageDefinition
		want string // empty: good
	}{
		{"child", StageDefinition{Kind: StageChild, Name: "sub", Parent: 1, Policy: StagePolicy{SuccessIf: "completed >= 0.5 * total"}}, ""},
		{"compensation", StageDefinition{Kind: StageCompensation, Name: CompensationStage}, ""},
		{"kind", StageDefinition{Kind: "main", Name: "x"}, `stage "x": unknown kind "main" (use child, end or compensation)`},
		{"name", StageDefinition{Kind: StageEnd}, "a stage of kind end has no name"},
		{"parent", StageDefinition{Kind: StageChild, Name: "x", Parent: -1}, `stage "x": invalid number -1 of its parent stage`},
		{"condition", StageDefinition{Kind: StageChild, Name: "x", Policy: StagePolicy{SuccessIf: "done > 1"}}, `stage "x": end.success_if: `},
	} {
		err := tc.d.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
