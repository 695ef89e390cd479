package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

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
		if v := EndVerdict(c, success); v.EventType != EventWorkflowCompleted || v.Payload.SuccessIfHolds == nil || !*v.Payload.SuccessIfHolds {
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
		change    func(c *Counts)
		want      EventType
		judged    bool // the condition had a word
	}{
		{"none", "", nil, EventWorkflowFailed, false},
		{"holds in spite of failures", "completed >= 0.5 * total", nil, EventWorkflowCompleted, true},
		{"does not hold", "completed > 0.9 * total", nil, EventWorkflowFailed, true},
		{"canceled", "completed >= 0.5 * total", func(c *Counts) { c.WorkflowCanceled = true }, EventWorkflowCanceled, false},
		{"given up", "completed >= 0.5 * total", func(c *Counts) { c.GivenUp = "deadline" }, EventWorkflowFailed, false},
		{"end job failed", "completed >= 0.5 * total", func(c *Counts) { c.EndJob = &EndJobResult{Status: Failed} }, EventWorkflowFailed, true},
		{"end job completed changes nothing", "completed > 0.9 * total", func(c *Counts) { c.EndJob = &EndJobResult{Status: Completed} }, EventWorkflowFailed, true},
	} {
		c := counts(map[JobStatus]int64{Completed: 3, Failed: 1})
		if tc.change != nil {
			tc.change(&c)
		}
		success, err := (&RunPolicy{End: &EndPolicy{SuccessIf: tc.successIf}}).Criterion()
		if err != nil {
			t.Fatal(err)
		}
		v := EndVerdict(c, success)
		if v.EventType != tc.want || (v.Payload.SuccessIfHolds != nil) != tc.judged || v.Payload.Reason != c.GivenUp {
			t.Errorf("%s: %s, %+v", tc.name, v.EventType, v.Payload)
		}
	}
	if success, err := (*RunPolicy)(nil).Criterion(); success != nil || err != nil {
		t.Errorf("no policy: %v, %v", success, err)
	}
}

func TestCriterionIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"done > 1":                 "done",
		`attempts_by("fire") == 0`: `there is no cause "fire"`,
		"completed > total + 1":    "this can never become true",
	} {
		found := (&RunPolicy{End: &EndPolicy{SuccessIf: text}}).Validate()
		if len(found) != 1 || found[0].Path != "end.success_if" || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %+v", text, found)
		}
	}
}
