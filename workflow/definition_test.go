package workflow_test

import (
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
