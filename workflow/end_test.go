package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func counts(byStatus map[JobStatus]int64) Counts {
	var c Counts
	for s, n := range byStatus {
		c.ByStatus[s] = n
	}
	return c
}

func TestEndVerdict(t *testing.T) {
	canceled := counts(map[JobStatus]int64{Completed: 2, Canceled: 3, Ready: 4, Blocked: 5})
	canceled.WorkflowCanceled = true
	tests := []struct {
		name string
		c    Counts
		want EventType
	}{
		{"all completed", counts(map[JobStatus]int64{Completed: 3}), EventWorkflowCompleted},
		{"disabled jobs are no failure", counts(map[JobStatus]int64{Completed: 3, Disabled: 1}), EventWorkflowCompleted},
		{"nothing at all", Counts{}, EventWorkflowCompleted},
		{"failed", counts(map[JobStatus]int64{Completed: 3, Failed: 1}), EventWorkflowFailed},
		{"terminated", counts(map[JobStatus]int64{Terminated: 1}), EventWorkflowFailed},
		{"skipped", counts(map[JobStatus]int64{Completed: 3, Canceled: 1}), EventWorkflowFailed},
		{"canceled", canceled, EventWorkflowCanceled},
	}
	for _, tt := range tests {
		if got := EndVerdict(tt.c, nil); got.EventType != tt.want || got.Payload.EventType != string(tt.want) {
			t.Errorf("%s: %s", tt.name, got.EventType)
		}
	}
}

func TestEndPayload(t *testing.T) {
	c := counts(map[JobStatus]int64{Completed: 5, Failed: 2, Terminated: 1, Canceled: 3, Disabled: 1})
	c.Retried, c.ByCause = 4, map[CauseKind]int64{CauseOK: 5, CauseOOM: 1, CauseExit: 6, CauseLost: 0}
	v := EndVerdict(c, nil)
	v.Payload.WorkflowID, v.Payload.RunID = 7, 2
	text, err := json.Marshal(v.Payload)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"category":"workflow","event_type":"workflow_failed","evaluated_by_end_step":true,"workflow_id":7,"run_id":2,"end_generation":0,` +
		`"total_steps":12,"failed_steps_count":3,"completed":5,"failed":2,"canceled":3,"terminated":1,"disabled":1,"not_run":0,"retried":4,` +
		`"by_cause":{"exit":6,"oom":1}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v.Severity != SeverityError {
		t.Errorf("severity %s", v.Severity)
	}
}

func TestEnded(t *testing.T) {
	for _, s := range JobStatuses() {
		c := counts(map[JobStatus]int64{Completed: 1, s: 1})
		if c.Ended() != s.IsComplete() {
			t.Errorf("with a job that is %s: ended %v", s, c.Ended())
		}
		c.WorkflowCanceled = true
		if c.Ended() == s.IsLive() {
			t.Errorf("canceled, with a job that is %s: ended %v", s, c.Ended())
		}
	}
}

// The payload's counts add up.
func TestCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Counts
		for s := range c.ByStatus {
			c.ByStatus[s] = rapid.Int64Range(0, 5).Draw(t, JobStatus(s).String())
		}
		c.WorkflowCanceled = rapid.Bool().Draw(t, "canceled")
		p := EndVerdict(c, nil).Payload
		if sum := p.Completed + p.Failed + p.Canceled + p.Terminated + p.Disabled + p.NotRun; sum != p.TotalSteps || sum != c.Total() {
			t.Fatalf("%d of %d steps", sum, p.TotalSteps)
		}
		if c.Open()+p.TotalSteps-p.NotRun != c.Total() || c.Live() > c.Open() {
			t.Fatalf("open %d, live %d, total %d", c.Open(), c.Live(), c.Total())
		}
	})
}

func TestSeverity(t *testing.T) {
	all := []Severity{SeverityDebug, SeverityInfo, SeverityWarning, SeverityError}
	for i, s := range all {
		if SeverityOf(s.Level()) != s {
			t.Errorf("level %d is %s, not %s", s.Level(), SeverityOf(s.Level()), s)
		}
		for k, level := range all {
			if s.AtLeast(level) != (i >= k) {
				t.Errorf("%s at least %s: %v", s, level, s.AtLeast(level))
			}
		}
	}
	if SeverityOf(-1) != SeverityInfo || SeverityOf(4) != SeverityInfo {
		t.Error("a level that does not exist is info")
	}
	if SeverityDebug.AtLeast("loud") || !SeverityInfo.AtLeast("loud") {
		t.Error("an unknown level is info")
	}
}

func TestJobEvent(t *testing.T) {
	want := map[JobStatus]string{Running: "job_started info", Completed: "job_completed info", Failed: "job_failed error",
		Canceled: "job_canceled warning", Terminated: "job_terminated warning", PendingFailed: "job_pending_failed info"}
	for _, s := range JobStatuses() {
		got := ""
		if kind, severity, ok := JobEvent(s); ok {
			got = string(kind) + " " + string(severity)
		}
		if got != want[s] {
			t.Errorf("%s: %q", s, got)
		}
	}
}

func TestJobEndedPayload(t *testing.T) {
	p := NewJobEndedPayload(3, "train", 1, 2, Failed, Cause{Kind: CauseExit, ReturnCode: 10, Text: "exit code 10"}, "none left")
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"job_id":3,"job_name":"train","status":"failed","return_code":10,"run_id":1,"attempt_id":2,"cause":"exit","text":"exit code 10",` +
		`"reason":"none left","routed_to_end":true,"original_failed_job":"train"}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := NewJobEndedPayload(3, "train", 1, 2, Completed, Cause{}, ""); p.RoutedToEnd || p.OriginalFailedJob != "" {
		t.Errorf("a success is routed as a failure: %+v", p)
	}
}
