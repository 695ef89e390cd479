package workflow_test

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestValidatePreference(t *testing.T) {
	for prefer, want := range map[string]string{
		"": "", "time": "", "balanced": "", "cost": "",
		"Time": `prefer is "Time"; it must be one of time, balanced, cost`,
	} {
		got := ""
		if err := workflow.ValidatePreference(prefer); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", prefer, got, want)
		}
	}
}

func TestRequiredInputs(t *testing.T) {
	d := workflow.Definition{
		Files: []workflow.FileDefinition{{Path: "in"}, {Path: "between"}, {Path: "out"}, {Path: "unused"}, {Path: "shared"}},
		Jobs:  []workflow.JobDefinition{{InputFiles: []int32{0, 4}, OutputFiles: []int32{1}}, {InputFiles: []int32{1, 4}, OutputFiles: []int32{2}}},
	}
	if got := d.RequiredInputs(); !slices.Equal(got, []string{"in", "shared"}) {
		t.Errorf("%v", got)
	}
}
