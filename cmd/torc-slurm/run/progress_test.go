package run

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// TestProgressViews draws moments of a run.
func TestProgressViews(t *testing.T) {
	moments := []struct {
		name string
		view progressView
	}{
		{"before the first count", progressView{WorkflowID: 1, Name: "sweep"}},
		{"running", progressView{
			WorkflowID: 12, Name: "sweep", Elapsed: 42 * time.Second, Total: 120, Rate: 3.14,
			Counts:  api.JobCounts{Completed: 60, Failed: 2, Canceled: 2, Running: 4, Pending: 1, Ready: 20, Blocked: 31},
			Retries: 3,
			Running: []runningView{{"simulate_001", 75 * time.Second}, {"simulate_002", 3 * time.Second}, {"c", 0}, {"d", 0}, {"e", 0}},
			Trouble: []trouble{
				{Job: "old", Cause: workflow.CauseExit, Status: workflow.Failed},
				{Job: "simulate_017", Attempt: 1, Cause: workflow.CauseOOM, Code: 137, Status: workflow.Running, Repair: true, Reason: "rule 1 of handler h"},
				{Job: "simulate_018", Attempt: 1, Cause: workflow.CauseExit, Code: 75, Status: workflow.Ready, Reason: "rule 2 of handler h: exit code 75, attempt 1 of 3"},
				{Job: "simulate_019", Attempt: 3, Cause: workflow.CauseExit, Code: 75, Status: workflow.Failed, Reason: "no rule"},
			},
		}},
		{"stages that run", progressView{
			WorkflowID: 1, Name: "w", Elapsed: time.Second, Total: 3, Counts: api.JobCounts{Completed: 1, Running: 1, Blocked: 1},
			Stages: []stage.StageSummary{{Name: "train", Kind: workflow.StageChild, State: stage.Running, Text: "3 of 10 jobs done, 1 failed"}},
		}},
		{"a long name with what a terminal would obey", progressView{
			WorkflowID: 1, Name: strings.Repeat("long ", 30) + "\x1b[2J\n", Total: 1, Counts: api.JobCounts{Running: 1},
			Running: []runningView{{"bell\a", time.Hour}}, Message: "the server does not answer",
		}},
		{"the end", progressView{WorkflowID: 1, Name: "w", Elapsed: 4000 * time.Second, Total: 3, Rate: 0.01, Counts: api.JobCounts{Completed: 3}}},
	}
	var b strings.Builder
	for _, m := range moments {
		b.WriteString("# " + m.name + "\n" + strings.Join(m.view.lines(80, plain), "\n") + "\n" + m.view.plainLine() + "\n\n")
	}
	golden.Compare(t, "testdata/progress.txt", b.String())
}

// TestProgressFits draws anything and checks that no line is too long.
func TestProgressFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(0, 1_000_000)
		c := api.JobCounts{Completed: count.Draw(t, "completed"), Failed: count.Draw(t, "failed"), Running: count.Draw(t, "running"), Ready: count.Draw(t, "ready")}
		v := progressView{
			WorkflowID: 1, Name: rapid.String().Draw(t, "name"), Counts: c, Total: c.Completed + c.Failed + c.Running + c.Ready,
			Running: []runningView{{rapid.String().Draw(t, "job"), time.Second}},
			Trouble: []trouble{{Job: rapid.String().Draw(t, "failed job")}}, Message: rapid.String().Draw(t, "message"),
		}
		width := rapid.IntRange(40, 200).Draw(t, "width")
		for _, line := range v.lines(width, plain) {
			if n := cli.TextWidth(line); n > width {
				t.Errorf("%d characters, the terminal has %d: %q", n, width, line)
			}
		}
	})
}

// TestProgressCounts follows jobs that are retried and stopped.
func TestProgressCounts(t *testing.T) {
	p := newProgress(1, "w", began)
	at := began
	tell := func(kind runner.EventKind, job int64, attempt int64, status workflow.JobStatus, cause workflow.CauseKind) {
		at = at.Add(time.Second)
		p.observe(runner.Event{Kind: kind, Time: at, JobID: job, JobName: string(rune('a' + job)), Attempt: attempt, Status: status, Cause: cause})
	}
	tell(runner.EventStarted, 1, 1, 0, "")
	tell(runner.EventStarted, 2, 1, 0, "")
	tell(runner.EventEnded, 1, 1, workflow.Ready, workflow.CauseExit)
	tell(runner.EventEnded, 2, 1, workflow.Failed, workflow.CauseOOM)
	tell(runner.EventStarted, 1, 2, 0, "")
	tell(runner.EventEnded, 1, 2, workflow.Completed, workflow.CauseOK)
	tell(runner.EventStarted, 3, 1, 0, "")
	v := p.view(at)
	if len(v.Running) != 1 || v.Running[0].Name != "d" || v.Retries != 1 || len(v.Trouble) != 2 {
		t.Errorf("view %+v", v)
	}
	if got := v.Rate; got != 3/at.Sub(began).Seconds() {
		t.Errorf("rate %v", got)
	}
	p.observe(runner.Event{Kind: runner.EventAction, Message: "on_workflow_start: true"})
	p.observe(runner.Event{Kind: runner.EventAction, Message: "on_workflow_start: false: return code 1", Failed: true})
	tell(runner.EventStopping, 0, 0, 0, "")
	tell(runner.EventEnded, 3, 1, workflow.Ready, workflow.CauseWalltime)

	r := &report{Status: "unfinished"}
	r.ofRunner(p, runner.Summary{Reason: "told to stop"}, at)
	want := &report{
		Status: "unfinished", Message: "Workflow 0 is not finished", DurationSeconds: at.Sub(began).Seconds(), Reason: "told to stop",
		Stopped: 1, FailedActions: []string{"on_workflow_start: false: return code 1"},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if n := len(p.takeTroubles()); n != 2 || len(p.takeTroubles()) != 0 {
		t.Errorf("%d troubles", n)
	}
}

// TestReport writes a report with everything in it.
func TestReport(t *testing.T) {
	r := &report{
		WorkflowID: 12, WorkflowName: "sweep", RunID: 2, Status: "failed", Message: "Workflow 12 failed", TotalJobs: 120,
		JobsByStatus:    api.JobCounts{Completed: 100, Failed: 11, Terminated: 1, Canceled: 8},
		DurationSeconds: 3723, Retried: 20, Repaired: 12, Stopped: 1, Undelivered: 2,
		ByCause: map[workflow.CauseKind]int64{workflow.CauseExit: 24, workflow.CauseOOM: 7},
		FailedJobs: []failedJob{
			{JobID: 7, Name: "simulate_\n001", Status: workflow.Failed, AttemptID: 3, ReturnCode: 3, Cause: "exit", Text: "exit code 3"},
			{JobID: 8, Name: "simulate_002", Status: workflow.Terminated, AttemptID: 1, Cause: "timeout"},
		},
		MoreFailed: 10, GivenUp: "job simulate_002: timeouts.total: it was first ready 3h ago and is not complete",
		FailedActions: []string{"on_workflow_complete: ./notify\n: return code 3"},
		Slowest:       []extremeJob{{JobID: 1, Name: "a", ExecTimeMinutes: 61}, {JobID: 2, Name: "b", ExecTimeMinutes: 0.05}},
		MostMemory:    []extremeJob{{JobID: 1, Name: "a", PeakMemoryBytes: 3 << 30}, {JobID: 2, Name: "b", PeakMemoryBytes: 5000}},
	}
	r.advise("torc-slurm -s", "out")
	var b strings.Builder
	r.write(&b)
	golden.Compare(t, "testdata/report.txt", b.String())
}
