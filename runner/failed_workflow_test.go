package runner

import (
	"encoding/json"
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestCompensationLearnsWhatFailed(t *testing.T) {
	t.Parallel()
	j := job(`cat "$TORC_FAILED_WORKFLOW_JSON"`)
	j.Compensates = true
	o := testOptions(t, runnertest.New(j))
	run(t, o)
	var got workflow.FailedWorkflow
	text := logText(t, o.OutputDir, 1, 1, ".o")
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.WorkflowID != 1 {
		t.Errorf("it learned %q: %v", text, err)
	}
}
