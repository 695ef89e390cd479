package event_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

func TestSeverity(t *testing.T) {
	all := []event.Severity{event.SeverityDebug, event.SeverityInfo, event.SeverityWarning, event.SeverityError}
	for i, s := range all {
		if event.SeverityOf(s.Level()) != s {
			t.Errorf("level %d is %s, not %s", s.Level(), event.SeverityOf(s.Level()), s)
		}
		for k, level := range all {
			if s.AtLeast(level) != (i >= k) {
				t.Errorf("%s at least %s: %v", s, level, s.AtLeast(level))
			}
		}
	}
	if event.SeverityOf(-1) != event.SeverityInfo || event.SeverityOf(4) != event.SeverityInfo {
		t.Error("a level that does not exist is info")
	}
	if event.SeverityDebug.AtLeast("loud") || !event.SeverityInfo.AtLeast("loud") {
		t.Error("an unknown level is info")
	}
}

func TestOfStatus(t *testing.T) {
	want := map[JobStatus]string{Running: "job_started info", Completed: "job_completed info", Failed: "job_failed error",
		Canceled: "job_canceled warning", Terminated: "job_terminated warning", PendingFailed: "job_pending_failed info"}
	for _, s := range JobStatuses() {
		got := ""
		if kind, severity, ok := event.OfStatus(s); ok {
			got = string(kind) + " " + string(severity)
		}
		if got != want[s] {
			t.Errorf("%s: %q", s, got)
		}
	}
}

func TestJobEndedPayload(t *testing.T) {
	p := event.NewJobEndedPayload(3, "train", 1, 2, Failed, Cause{Kind: CauseExit, ReturnCode: 10, Text: "exit code 10"}, "none left")
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"job_id":3,"job_name":"train","status":"failed","return_code":10,"run_id":1,"attempt_id":2,"cause":"exit","text":"exit code 10",` +
		`"reason":"none left","routed_to_end":true,"original_failed_job":"train"}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := event.NewJobEndedPayload(3, "train", 1, 2, Completed, Cause{}, ""); p.RoutedToEnd || p.OriginalFailedJob != "" {
		t.Errorf("a success is routed as a failure: %+v", p)
	}
}
