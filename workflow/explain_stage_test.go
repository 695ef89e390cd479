package workflow_test

import (
	"slices"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// TestExplainStage: a job that waits for its stage, or stands for one, says so,
// and not that it has dependencies or a runner.
func TestExplainStage(t *testing.T) {
	half := counts(map[JobStatus]int64{Completed: 1, Failed: 1, Ready: 2}).ByStatus
	parent := ptr(int64(1))
	failed := NewStageVerdict(&Stage{Name: "sub", Kind: StageChild}, EndVerdict(counts(map[JobStatus]int64{Completed: 1, Failed: 1}), nil))
	less := failed
	less.DeletedJobs = 1
	for _, tc := range []struct {
		name         string
		status       JobStatus
		stage, child *Stage
		state        string   // empty: as of other jobs
		lines        []string // of the section stage
	}{
		{"in no stage", Running, nil, nil, "", nil},
		{"before its sub-workflow", Blocked, &Stage{Name: "sub", Kind: StageChild, State: StageNotStarted, Counts: half}, nil,
			`blocked, job "sub" whose sub-workflow it is in has not begun`, []string{`it is in the stage "sub" (child), which is not_started: 2 of 4 jobs done, 1 failed`}},
		{"in its sub-workflow", Blocked, &Stage{Name: "sub", Kind: StageChild, State: StageRunning, Counts: half}, nil,
			"", []string{`it is in the stage "sub" (child), which is running: 2 of 4 jobs done, 1 failed`}},
		{"the end job", Blocked, &Stage{Name: "end", Kind: StageEnd, State: StageNotStarted}, nil,
			"blocked, the end job runs when all others are complete", []string{`it is in the stage "end" (end), which is not_started: 0 of 0 jobs done`}},
		{"the end job of a run that was given up", Blocked, &Stage{Name: "end", Kind: StageEnd, State: StageNotStarted, WaitsFor: []string{"n1", "n2"}}, nil,
			"blocked, the end job waits until the processes of the run, which was given up, have ended: to be said by the runners on n1, n2",
			[]string{`it is in the stage "end" (end), which is not_started: waits until the processes of the run, which was given up, have ended: to be said by the runners on n1, n2`}},
		{"the end job of a sub-workflow", Blocked, &Stage{Name: "sub/end", Kind: StageEnd, State: StageNotStarted, ParentID: parent}, nil,
			"blocked, the end job of a sub-workflow runs when its other jobs are complete", []string{`it is in the stage "sub/end" (end), which is not_started: 0 of 0 jobs done`}},
		{"stands for one", Running, nil, &Stage{Name: "sub", Kind: StageChild, State: StageRunning, Policy: StagePolicy{Source: "sub.yaml"}, Counts: half},
			"running, 2 of 4 jobs done, 1 failed", []string{"it stands for the sub-workflow sub.yaml, which is running", "2 of 4 jobs done, 1 failed"}},
		{"stood for one", Failed, nil, &Stage{Name: "sub", Kind: StageChild, State: StageEnded, Policy: StagePolicy{Source: "sub.yaml"}, Counts: half, Verdict: &failed},
			"", []string{"it stands for the sub-workflow sub.yaml, which is ended", "2 of 4 jobs done, 1 failed", "its verdict: 1 of 2 jobs completed, 1 failed"}},
		{"jobs of it are gone", Failed, nil, &Stage{Name: "sub", Kind: StageChild, State: StageEnded, Policy: StagePolicy{Source: "sub.yaml"}, Counts: half, Verdict: &less},
			"", []string{"it stands for the sub-workflow sub.yaml, which is ended", "2 of 4 jobs done, 1 failed", "its verdict: 1 of 2 jobs completed, 1 failed; 1 job of it was deleted since"}},
	} {
		f := jobFacts(tc.status)
		plain := Explain(f).State
		f.Stage, f.Child = tc.stage, tc.child
		e := Explain(f)
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

// An end job of the daemon's host waits for no runner that somebody starts.
func TestExplainLogin(t *testing.T) {
	f := jobFacts(Ready)
	f.Class.Login, f.Login = true, LoginFacts{Host: "login1", Starts: true}
	elsewhere := RunnerFacts{ID: 3, Host: "n1", Total: Offer{Slots: 1, IgnoreResources: true}}
	for _, tc := range []struct {
		name   string
		change func(f *JobFacts)
		next   string
	}{
		{"nobody there", func(*JobFacts) {}, "the daemon starts a runner for it on its host login1"},
		{"a runner elsewhere", func(f *JobFacts) { f.Runners = []RunnerFacts{elsewhere} }, "the daemon starts a runner for it on its host login1"},
		{"a runner there", func(f *JobFacts) {
			here := elsewhere
			here.Total.Login = LoginOnly
			here.Free = here.Total
			f.Runners = []RunnerFacts{here}
		}, "a runner takes it in its next turn"},
		{"one that failed", func(f *JobFacts) { f.Login.Failure = "exit status 1: no space" },
			"the daemon starts a runner for it on its host login1 again; the last one failed: exit status 1: no space"},
		{"a daemon that starts none", func(f *JobFacts) { f.Login.Starts = false }, "a runner on the daemon's host login1 takes it (run 1)"},
		{"a delay", func(f *JobFacts) { f.Job.NotBeforeMS = new(f.NowMS + 1000) }, "a runner takes it then"},
	} {
		f := f
		f.Job.WorkflowID = 1
		tc.change(&f)
		if got := Explain(f).Next; got != tc.next {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.next)
		}
		if tc.name == "a delay" {
			continue
		}
		w := WorkflowFacts{ID: 1, Ready: []ClassFact{{Class: f.Class, Jobs: 1, Example: "end"}}, Runners: f.Runners, Login: f.Login}
		w.Counts.ByStatus[Ready] = 1
		if tc.name == "a runner there" {
			tc.next = "a runner takes the next ready job"
		}
		if got := ExplainWorkflow(w).Next; got != tc.next {
			t.Errorf("%s: of the workflow: %q, want %q", tc.name, got, tc.next)
		}
	}
}

// While a run is being undone nobody is told to retry or reset it.
func TestExplainUndo(t *testing.T) {
	f := WorkflowFacts{ID: 7, Compensation: &Compensation{State: CompensationRunning, Text: "runs, 1 of 2 jobs have ended"}}
	f.Counts.ByStatus[Failed] = 1
	const tail = "; a retry or a reset has to wait for its end, a cancel ends it"
	if got, want := ExplainWorkflow(f).Next, "what the run did is being undone: runs, 1 of 2 jobs have ended; no runner is live: run 7 goes on with it"+tail; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Runners = []RunnerFacts{{ID: 1}}
	if got, want := ExplainWorkflow(f).Next, "what the run did is being undone: runs, 1 of 2 jobs have ended"+tail; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Compensation.State = CompensationCompleted
	if got, want := ExplainWorkflow(f).Next, "nothing by itself; retry or reset what was not successful"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
