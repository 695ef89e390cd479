package runner

import (
	"encoding/json"
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func TestCompensationLearnsWhatFailed(t *testing.T) {
	t.Parallel()
	j := job(`cat "$TORC_FAILED_WORKFLOW_JSON"`)
	j.Compensates = true
	o := testOptions(t, runnertest.New(j))
	run(t, o)
	var got stage.FailedWorkflow
	text := logText(t, o.OutputDir, 1, 1, ".o")
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.WorkflowID != 1 {
		t.Errorf("it learned %q: %v", text, err)
	}
}

// A daemon that is down when an undo begins costs it no attempt; one that answers that
// nothing failed does.
func TestDaemonDownWhenAnUndoBegins(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mute int
		want workflow.JobStatus
	}{"away": {2, workflow.Completed}, "does not know": {-1, workflow.Failed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(`cat "$TORC_FAILED_WORKFLOW_JSON"`)
			j.Compensates = true
			d := runnertest.New(j)
			d.Unanswered = test.mute
			run(t, testOptions(t, d))
			if s := d.Job(1); s.Status != test.want || len(s.Attempts) != 1 {
				t.Errorf("%s after %d attempts: %+v", s.Status, len(s.Attempts), s.Attempts)
			}
		})
	}
}
