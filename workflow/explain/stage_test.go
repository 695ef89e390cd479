package explain_test

import (
	"slices"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// TestExplainStage checks the texts for a job that waits for its stage or that stands for a
// sub-workflow: they do not mention dependencies or a runner.
func TestExplainStage(t *testing.T) {
	half := counts(map[JobStatus]int64{Completed: 1, Failed: 1, Ready: 2}).ByStatus
	parent := ptr(int64(1))
	failed := stage.NewStageVerdict(&stage.Stage{Name: "sub", Kind: StageChild}, stage.EndVerdict(counts(map[JobStatus]int64{Completed: 1, Failed: 1}), nil))
	less := failed
	less.DeletedJobs = 1
	for _, tc := range []struct {
		name         string
		status       JobStatus
		stage, child *stage.Stage
		state        string   // empty: as of other jobs
		lines        []string // of the section stage
	}{
		{"in no stage", Running, nil, nil, "", nil},
		{"before its sub-workflow", Blocked, &stage.Stage{Name: "sub", Kind: StageChild, State: stage.NotStarted, Counts: half}, nil,
			`blocked, it is in the sub-workflow of job "sub", which has not started`, []string{`it is in the stage "sub" (child), which is not_started: 2 of 4 jobs done, 1 failed`}},
		{"in its sub-workflow", Blocked, &stage.Stage{Name: "sub", Kind: StageChild, State: stage.Running, Counts: half}, nil,
			"", []string{`it is in the stage "sub" (child), which is running: 2 of 4 jobs done, 1 failed`}},
		{"the end job", Blocked, &stage.Stage{Name: "end", Kind: StageEnd, State: stage.NotStarted}, nil,
			"blocked, the end job runs when all others are complete", []string{`it is in the stage "end" (end), which is not_started: 0 of 0 jobs done`}},
		{"the end job of an aborted run", Blocked, &stage.Stage{Name: "end", Kind: StageEnd, State: stage.NotStarted, WaitsFor: []string{"n1", "n2"}}, nil,
			"blocked, the end job waits until the processes of the aborted run have ended; the runners that have to confirm this are on n1, n2",
			[]string{`it is in the stage "end" (end), which is not_started: waits until the processes of the aborted run have ended; the runners that have to confirm this are on n1, n2`}},
		{"the end job of a sub-workflow", Blocked, &stage.Stage{Name: "sub/end", Kind: StageEnd, State: stage.NotStarted, ParentID: parent}, nil,
			"blocked, the end job of a sub-workflow runs when its other jobs are complete", []string{`it is in the stage "sub/end" (end), which is not_started: 0 of 0 jobs done`}},
		{"stands for one", Running, nil, &stage.Stage{Name: "sub", Kind: StageChild, State: stage.Running, Policy: StagePolicy{Source: "sub.yaml"}, Counts: half},
			"running, 2 of 4 jobs done, 1 failed", []string{"it stands for the sub-workflow sub.yaml, which is running", "2 of 4 jobs done, 1 failed"}},
		{"stood for one", Failed, nil, &stage.Stage{Name: "sub", Kind: StageChild, State: stage.Ended, Policy: StagePolicy{Source: "sub.yaml"}, Counts: half, Verdict: &failed},
			"", []string{"it stands for the sub-workflow sub.yaml, which is ended", "2 of 4 jobs done, 1 failed", "its verdict: 1 of 2 jobs completed, 1 failed"}},
		{"jobs of it were deleted", Failed, nil, &stage.Stage{Name: "sub", Kind: StageChild, State: stage.Ended, Policy: StagePolicy{Source: "sub.yaml"}, Counts: half, Verdict: &less},
			"", []string{"it stands for the sub-workflow sub.yaml, which is ended", "2 of 4 jobs done, 1 failed", "its verdict: 1 of 2 jobs completed, 1 failed; 1 of its jobs was deleted since"}},
	} {
		f := jobFacts(tc.status)
		plain := explain.Job(f).State
		f.Stage, f.Child = tc.stage, tc.child
		e := explain.Job(f)
		if tc.state == "" {
			tc.state = plain
		}
		if e.State != tc.state {
			t.Errorf("%s: %q, want %q", tc.name, e.State, tc.state)
		}
		var lines []string
		for _, s := range e.Sections {
			if s.Title == "stage" {
				lines = s.Lines
			}
		}
		if !slices.Equal(lines, tc.lines) {
			t.Errorf("%s: %q", tc.name, lines)
		}
	}
}

// TestExplainLogin checks that nobody has to start a runner for an end job of the daemon's
// host.
func TestExplainLogin(t *testing.T) {
	f := jobFacts(Ready)
	f.Class.Login, f.Login = true, explain.LoginFacts{Host: "login1", Starts: true}
	elsewhere := placement.RunnerFacts{ID: 3, Host: "n1", Total: placement.Offer{Slots: 1, IgnoreResources: true}}
	for _, tc := range []struct {
		name   string
		change func(f *explain.JobFacts)
		next   string
	}{
		{"nobody there", func(*explain.JobFacts) {}, "the daemon starts a runner for it on its host login1"},
		{"a runner elsewhere", func(f *explain.JobFacts) { f.Runners = []placement.RunnerFacts{elsewhere} }, "the daemon starts a runner for it on its host login1"},
		{"a runner there", func(f *explain.JobFacts) {
			here := elsewhere
			here.Total.Login = placement.LoginOnly
			here.Free = here.Total
			f.Runners = []placement.RunnerFacts{here}
		}, "a runner takes it in its next turn"},
		{"one that failed", func(f *explain.JobFacts) { f.Login.Failure = "exit status 1: no space" },
			"the daemon starts another runner for it on its host login1; the last one failed: exit status 1: no space"},
		{"a daemon that starts none", func(f *explain.JobFacts) { f.Login.Starts = false }, "a runner on the daemon's host login1 takes it (run 1)"},
		{"a delay", func(f *explain.JobFacts) { f.Job.NotBeforeMS = new(f.NowMS + 1000) }, "a runner takes it then"},
	} {
		f := f
		f.Job.WorkflowID = 1
		tc.change(&f)
		if got := explain.Job(f).Next; got != tc.next {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.next)
		}
		if tc.name == "a delay" {
			continue
		}
		w := explain.WorkflowFacts{ID: 1, Ready: []explain.ClassFact{{Class: f.Class, Jobs: 1, Example: "end"}}, Runners: f.Runners, Login: f.Login}
		w.Counts.ByStatus[Ready] = 1
		if tc.name == "a runner there" {
			tc.next = "a runner takes the next ready job"
		}
		if got := explain.Workflow(w).Next; got != tc.next {
			t.Errorf("%s: of the workflow: %q, want %q", tc.name, got, tc.next)
		}
	}
}

// TestExplainUndo checks that the text does not advise to retry or reset a run while it is
// being undone.
func TestExplainUndo(t *testing.T) {
	f := explain.WorkflowFacts{ID: 7, Compensation: &stage.Compensation{State: stage.CompensationRunning, Text: "running, 1 of 2 jobs have ended"}}
	f.Counts.ByStatus[Failed] = 1
	const tail = "; retry and reset are possible when it has ended; cancel stops it"
	if got, want := explain.Workflow(f).Next, "the run is being undone: running, 1 of 2 jobs have ended; no runner is live: `torc-slurm run 7` continues it"+tail; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Runners = []placement.RunnerFacts{{ID: 1}}
	if got, want := explain.Workflow(f).Next, "the run is being undone: running, 1 of 2 jobs have ended"+tail; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Compensation.State = stage.CompensationCompleted
	if got, want := explain.Workflow(f).Next, "nothing by itself; retry or reset the unsuccessful jobs"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
