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
		{"kind", StageDefinition{Kind: "main", Name: "x"}, `stage "x": "main" is not a kind of stage (use child, end or compensation)`},
		{"name", StageDefinition{Kind: StageEnd}, "a stage of kind end has no name"},
		{"parent", StageDefinition{Kind: StageChild, Name: "x", Parent: -1}, `stage "x" belongs to stage number -1, which there is not`},
		{"condition", StageDefinition{Kind: StageChild, Name: "x", Policy: StagePolicy{SuccessIf: "done > 1"}}, `stage "x": end.success_if: `},
	} {
		err := tc.d.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestStageVerdict: a sub-workflow job ends as its stage did, under the name of
// the stage and in its generation, not that of the run.
func TestStageVerdict(t *testing.T) {
	s := &Stage{Name: "sub", Kind: StageChild, WorkflowID: 7, RunID: 2, Generation: 5}
	for _, tc := range []struct {
		name   string
		counts Counts
		event  EventType
		cause  Cause
	}{
		{"successful", counts(map[JobStatus]int64{Completed: 3, Disabled: 1}), EventStageCompleted,
			Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "3 of 4 jobs completed, 1 disabled"}},
		{"failed", counts(map[JobStatus]int64{Completed: 1, Failed: 1, Canceled: 2}), EventStageFailed,
			Cause{Kind: CauseSubWorkflow, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "1 of 4 jobs completed, 1 failed, 2 canceled"}},
		{"canceled", Counts{ByStatus: counts(map[JobStatus]int64{Completed: 1, Ready: 1}).ByStatus, WorkflowCanceled: true}, EventStageFailed,
			Cause{Kind: CauseSubWorkflow, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "1 of 2 jobs completed"}},
	} {
		v := NewStageVerdict(s, EndVerdict(tc.counts, nil))
		if v.EventType != string(tc.event) || v.Stage != "sub" || v.Kind != StageChild || v.WorkflowID != 7 || v.RunID != 2 || v.EndGeneration != 5 {
			t.Errorf("%s: %+v", tc.name, v)
		}
		if got := v.Cause(); got != tc.cause {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestVerdictTexts(t *testing.T) {
	no := false
	p := EndPayload{RunID: 2, TotalSteps: 6, Completed: 3, FailedStepsCount: 2, Failed: 1, Terminated: 1, Canceled: 1, SuccessIf: "failed == 0", SuccessIfHolds: &no,
		EndJob: &EndJobResult{Status: Failed, Text: "exit code 3"}, Reason: "its deadline passed"}
	if got, want := p.Text(), "3 of 6 jobs completed, 1 failed, 1 terminated, 1 canceled; success_if does not hold: failed == 0; the end job failed (exit code 3)"; got != want {
		t.Errorf("%q", got)
	}
	want := Alert{Kind: AlertRunFailed, Subject: "run 2 failed: 2 failed jobs",
		Text: "Of 6 jobs 3 completed, 2 failed, 1 were canceled.\nIt was given up: its deadline passed\nsuccess_if does not hold: failed == 0\nThe end job failed: exit code 3"}
	if got := p.Alert(); got != want {
		t.Errorf("%+v", got)
	}
	// What went well is not told.
	yes := true
	p = EndPayload{RunID: 1, TotalSteps: 1, FailedStepsCount: 1, Failed: 1, SuccessIf: "total > 0", SuccessIfHolds: &yes, EndJob: &EndJobResult{Status: Completed}}
	if got := p.Text() + "; " + p.Alert().Text; got != "0 of 1 job completed, 1 failed; Of 1 job 0 completed, 1 failed, 0 were canceled." {
		t.Errorf("%q", got)
	}
}
