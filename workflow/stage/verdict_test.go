package stage_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// TestStageVerdict: a sub-workflow job ends as its stage did, under the name of
// the stage and in its generation, not that of the run.
func TestStageVerdict(t *testing.T) {
	s := &stage.Stage{Name: "sub", Kind: StageChild, WorkflowID: 7, RunID: 2, Generation: 5}
	for _, tc := range []struct {
		name       string
		UsesBudget stage.Counts
		event      EventType
		cause      Cause
	}{
		{"successful", counts(map[JobStatus]int64{Completed: 3, Disabled: 1}), EventStageCompleted,
			Cause{Kind: CauseOK, Confidence: Certain, Status: Completed, Text: "3 of 4 jobs completed, 1 disabled"}},
		{"failed", counts(map[JobStatus]int64{Completed: 1, Failed: 1, Canceled: 2}), EventStageFailed,
			Cause{Kind: CauseSubWorkflow, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "1 of 4 jobs completed, 1 failed, 2 canceled"}},
		{"canceled", stage.Counts{ByStatus: counts(map[JobStatus]int64{Completed: 1, Ready: 1}).ByStatus, WorkflowCanceled: true}, EventStageFailed,
			Cause{Kind: CauseSubWorkflow, Confidence: Certain, Status: Failed, ReturnCode: 1, Text: "1 of 2 jobs completed"}},
	} {
		v := stage.NewStageVerdict(s, stage.EndVerdict(tc.UsesBudget, nil))
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
	p := stage.EndPayload{RunID: 2, TotalSteps: 6, Completed: 3, FailedStepsCount: 2, Failed: 1, Terminated: 1, Canceled: 1, SuccessIf: "failed == 0", SuccessIfHolds: &no,
		EndJob: &stage.EndJobResult{Status: Failed, Text: "exit code 3"}, Reason: "its deadline passed"}
	if got, want := p.Text(), "3 of 6 jobs completed, 1 failed, 1 terminated, 1 canceled; success_if does not hold: failed == 0; the end job failed (exit code 3)"; got != want {
		t.Errorf("%q", got)
	}
	want := Alert{Kind: AlertRunFailed, Subject: "run 2 failed: 2 failed jobs",
		Text: "Of 6 jobs, 3 completed, 2 failed, 1 were canceled.\nThe run was aborted: its deadline passed\nsuccess_if does not hold: failed == 0\nThe end job failed: exit code 3"}
	if got := p.Alert(); got != want {
		t.Errorf("%+v", got)
	}
	// What went well is not told.
	yes := true
	p = stage.EndPayload{RunID: 1, TotalSteps: 1, FailedStepsCount: 1, Failed: 1, SuccessIf: "total > 0", SuccessIfHolds: &yes, EndJob: &stage.EndJobResult{Status: Completed}}
	if got := p.Text() + "; " + p.Alert().Text; got != "0 of 1 job completed, 1 failed; Of 1 job, 0 completed, 1 failed, 0 were canceled." {
		t.Errorf("%q", got)
	}
}

// TestCriterionCounts: each name of a condition stands for the number that the
// documentation says; failed has terminated jobs too.
func TestCriterionCounts(t *testing.T) {
	c := counts(map[JobStatus]int64{Completed: 20, Failed: 3, Terminated: 2, Canceled: 5, Disabled: 7, Ready: 6, Running: 4})
	c.Retried, c.ByCause = 9, map[CauseKind]int64{CauseOOM: 8}
	c.ByPattern = map[string]StatusCounts{"a*": counts(map[JobStatus]int64{Completed: 10, Failed: 1, Terminated: 1, Canceled: 3, Ready: 6}).ByStatus}
	for name, want := range map[string]int64{
		"total": 47, "completed": 20, "failed": 5, "terminated": 2, "canceled": 5, "disabled": 7, "not_run": 10, "retried": 9,
		`total_in("a*")`: 21, `completed_in("a*")`: 10, `failed_in("a*")`: 2, `canceled_in("a*")`: 3, `attempts_by("oom")`: 8, `attempts_by("lost")`: 0,
	} {
		p := &RunPolicy{End: &EndPolicy{SuccessIf: fmt.Sprintf("%s == %d", name, want)}}
		success, err := p.Criterion()
		if err != nil {
			t.Fatal(err)
		}
		if v := stage.EndVerdict(c, success); v.EventType != EventWorkflowCompleted || v.Payload.SuccessIfHolds == nil || !*v.Payload.SuccessIfHolds {
			t.Errorf("%s does not hold", p.End.SuccessIf)
		}
	}
}

// TestVerdictByCriterion: the condition alone judges the jobs, but it does not
// outdo a cancel, a run that was given up or an end job that failed.
func TestVerdictByCriterion(t *testing.T) {
	for _, tc := range []struct {
		name      string
		successIf string
		change    func(c *stage.Counts)
		want      EventType
		judged    bool // the condition had a word
	}{
		{"none", "", nil, EventWorkflowFailed, false},
		{"holds in spite of failures", "completed >= 0.5 * total", nil, EventWorkflowCompleted, true},
		{"does not hold", "completed > 0.9 * total", nil, EventWorkflowFailed, true},
		{"canceled", "completed >= 0.5 * total", func(c *stage.Counts) { c.WorkflowCanceled = true }, EventWorkflowCanceled, false},
		{"given up", "completed >= 0.5 * total", func(c *stage.Counts) { c.GivenUp = "deadline" }, EventWorkflowFailed, false},
		{"end job failed", "completed >= 0.5 * total", func(c *stage.Counts) { c.EndJob = &stage.EndJobResult{Status: Failed} }, EventWorkflowFailed, true},
		{"end job completed changes nothing", "completed > 0.9 * total", func(c *stage.Counts) { c.EndJob = &stage.EndJobResult{Status: Completed} }, EventWorkflowFailed, true},
	} {
		c := counts(map[JobStatus]int64{Completed: 3, Failed: 1})
		if tc.change != nil {
			tc.change(&c)
		}
		success, err := (&RunPolicy{End: &EndPolicy{SuccessIf: tc.successIf}}).Criterion()
		if err != nil {
			t.Fatal(err)
		}
		v := stage.EndVerdict(c, success)
		if v.EventType != tc.want || (v.Payload.SuccessIfHolds != nil) != tc.judged || v.Payload.Reason != c.GivenUp {
			t.Errorf("%s: %s, %+v", tc.name, v.EventType, v.Payload)
		}
	}
	if success, err := (*RunPolicy)(nil).Criterion(); success != nil || err != nil {
		t.Errorf("no policy: %v, %v", success, err)
	}
}

func TestCompensationIsDescribed(t *testing.T) {
	jobs := counts(map[JobStatus]int64{Completed: 2, Failed: 1, Running: 1, Blocked: 1, Disabled: 4}).ByStatus
	for _, tc := range []struct {
		c    stage.Compensation
		over bool
		want string
	}{
		{stage.Compensation{State: stage.CompensationWaiting}, false, "waits until no processes of the run are left"},
		{stage.Compensation{State: stage.CompensationRunning}, false, "running, 3 of 5 jobs have ended"},
		{stage.Compensation{State: stage.CompensationCompleted}, true, "completed, 5 jobs"},
		{stage.Compensation{State: stage.CompensationFailed}, true, "failed, 2 of 5 jobs completed"},
		{stage.Compensation{State: stage.CompensationFailed, Reason: "its time is over"}, true, "failed, 2 of 5 jobs completed: its time is over"},
	} {
		if tc.c.Describe(jobs); tc.c.Text != tc.want {
			t.Errorf("%s: %q, want %q", tc.c.State, tc.c.Text, tc.want)
		}
		if tc.c.State.IsOver() != tc.over {
			t.Errorf("%s is over: %v", tc.c.State, !tc.over)
		}
	}
}

func TestEndInput(t *testing.T) {
	c := counts(map[JobStatus]int64{Completed: 5, Failed: 2, Terminated: 1, Canceled: 3, Disabled: 1})
	c.Retried, c.ByCause = 4, map[CauseKind]int64{CauseOK: 5, CauseOOM: 1}
	p := stage.EndVerdict(c, nil).Payload
	p.WorkflowID, p.RunID, p.EndGeneration, p.SuccessIf = 7, 2, 3, "completed > 0"
	want := stage.EndInput{Version: 1, WorkflowID: 7, RunID: 2, EndGeneration: 3, Verdict: "failed", Total: 12, Completed: 5, Failed: 3, Terminated: 1,
		Canceled: 3, Disabled: 1, Retried: 4, ByCause: map[CauseKind]int64{CauseOOM: 1}, SuccessIf: "completed > 0", FailedJobs: []stage.EndInputJob{}}
	if diff := cmp.Diff(want, stage.NewEndInput(&p, false)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want.Verdict = "completed"
	if diff := cmp.Diff(want, stage.NewEndInput(&p, true)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDeadlinePassed(t *testing.T) {
	c := counts(map[JobStatus]int64{Completed: 5, Failed: 1, Running: 2, Pending: 1, Ready: 3, Blocked: 4, PendingFailed: 1})
	const jobs = "6 of 17 jobs are complete, 3 are live, 8 are waiting."
	for policy, then := range map[DeadlinePolicy]string{
		"": "", DeadlineAlert: "", DeadlineStopNew: "\nNo more jobs are started.", DeadlineFail: "\nLive jobs are ended, and the run has failed.",
	} {
		d := &Deadline{After: "P2D", Policy: policy}
		want := Alert{Kind: AlertDeadline, Subject: "the deadline has passed, 2d after the start of the run", Text: jobs + then}
		if diff := cmp.Diff(want, stage.DeadlinePassed(d, c)); diff != "" {
			t.Errorf("%q: -want +got:\n%s", policy, diff)
		}
	}
}
