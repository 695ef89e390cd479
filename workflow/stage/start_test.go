package stage

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestStart(t *testing.T) {
	counts := func(of map[workflow.JobStatus]int64) (c workflow.StatusCounts) {
		for s, n := range of {
			c[s] = n
		}
		return c
	}
	fresh := counts(map[workflow.JobStatus]int64{workflow.Uninitialized: 2})
	begun := counts(map[workflow.JobStatus]int64{workflow.Ready: 1, workflow.Completed: 1})
	part := counts(map[workflow.JobStatus]int64{workflow.Uninitialized: 1, workflow.Completed: 1})
	ended := counts(map[workflow.JobStatus]int64{workflow.Failed: 1, workflow.Disabled: 1})
	for _, tt := range []struct {
		name  string
		facts StartFacts
		want  Start
		err   string
	}{
		{"first run", StartFacts{Jobs: fresh}, Start{Starts: true, NewRun: true, Reason: "no run has started yet"}, ""},
		{"disabled jobs do not count", StartFacts{Jobs: counts(map[workflow.JobStatus]int64{workflow.Uninitialized: 1, workflow.Disabled: 1})},
			Start{Starts: true, NewRun: true, Reason: "no run has started yet"}, ""},
		{"begun by a reset", StartFacts{RunID: 3, Jobs: part}, Start{Starts: true, OnlyUninitialized: true, Reason: "no job has run in run 3"}, ""},
		{"with results", StartFacts{RunID: 3, Jobs: part, HasResults: true}, Start{Starts: true, NewRun: true, OnlyUninitialized: true, Reason: "jobs have already run in run 3"}, ""},
		{"all again", StartFacts{RunID: 3, Jobs: fresh, HasResults: true}, Start{Starts: true, NewRun: true, Reason: "jobs have already run in run 3"}, ""},
		{"started", StartFacts{RunID: 3, Jobs: begun}, Start{Reason: "run 3 has already started"}, ""},
		{"undone", StartFacts{RunID: 3, Jobs: part, Canceled: true, Compensating: true}, Start{Reason: "run 3 is being undone"}, ""},
		{"canceled", StartFacts{WorkflowID: 7, RunID: 3, Jobs: part, Canceled: true}, Start{}, "workflow 7 is canceled"},
		{"ended", StartFacts{WorkflowID: 7, RunID: 3, Jobs: ended}, Start{}, "workflow 7 has ended"},
		{"empty", StartFacts{WorkflowID: 7}, Start{}, "workflow 7 has no jobs"},
	} {
		got, err := tt.facts.Start()
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		if tt.err == "" && err != nil || tt.err != "" && (workflow.CodeOf(err) != workflow.CodeConflict || err.(*workflow.Error).Message != tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}
