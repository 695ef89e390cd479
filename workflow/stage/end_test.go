package stage_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func counts(byStatus map[JobStatus]int64) stage.Counts {
	var c stage.Counts
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
		c    stage.Counts
		want EventType
	}{
		{"all completed", counts(map[JobStatus]int64{Completed: 3}), EventWorkflowCompleted},
		{"disabled jobs are no failure", counts(map[JobStatus]int64{Completed: 3, Disabled: 1}), EventWorkflowCompleted},
		{"nothing at all", stage.Counts{}, EventWorkflowCompleted},
		{"failed", counts(map[JobStatus]int64{Completed: 3, Failed: 1}), EventWorkflowFailed},
		{"terminated", counts(map[JobStatus]int64{Terminated: 1}), EventWorkflowFailed},
		{"skipped", counts(map[JobStatus]int64{Completed: 3, Canceled: 1}), EventWorkflowFailed},
		{"canceled", canceled, EventWorkflowCanceled},
	}
	for _, tt := range tests {
		if got := stage.EndVerdict(tt.c, nil); got.EventType != tt.want || got.Payload.EventType != string(tt.want) {
			t.Errorf("%s: %s", tt.name, got.EventType)
		}
	}
}

func TestEndPayload(t *testing.T) {
	c := counts(map[JobStatus]int64{Completed: 5, Failed: 2, Terminated: 1, Canceled: 3, Disabled: 1})
	c.Retried, c.ByCause = 4, map[CauseKind]int64{CauseOK: 5, CauseOOM: 1, CauseExit: 6, CauseLost: 0}
	v := stage.EndVerdict(c, nil)
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
	if v.Severity != event.SeverityError {
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
		var c stage.Counts
		for s := range c.ByStatus {
			c.ByStatus[s] = rapid.Int64Range(0, 5).Draw(t, JobStatus(s).String())
		}
		c.WorkflowCanceled = rapid.Bool().Draw(t, "canceled")
		p := stage.EndVerdict(c, nil).Payload
		if sum := p.Completed + p.Failed + p.Canceled + p.Terminated + p.Disabled + p.NotRun; sum != p.TotalSteps || sum != c.Total() {
			t.Fatalf("%d of %d steps", sum, p.TotalSteps)
		}
		if c.Open()+p.TotalSteps-p.NotRun != c.Total() || c.Live() > c.Open() {
			t.Fatalf("open %d, live %d, total %d", c.Open(), c.Live(), c.Total())
		}
	})
}
