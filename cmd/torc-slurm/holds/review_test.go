package holds

import (
	"fmt"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// keysOf presses keys, and returns the steps that follow.
func keysOf(r *review, keys string) (steps []reviewStep) {
	for _, key := range keys {
		steps = append(steps, r.press(key))
	}
	return steps
}

func TestReview(t *testing.T) {
	r := newReview([]hold.HoldGroup{{Fingerprint: "a", Count: 2}, {Fingerprint: "b", Count: 1}, {Fingerprint: "c", Count: 1}})
	ready := &hold.VerdictOutcome{Resolved: true, Jobs: []hold.HoldOutcome{{JobName: "x", Resolved: true, Attempt: 2}, {JobName: "y", Resolved: true, Attempt: 2}}}
	want := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	want("start", r.start(), stepChoose)
	want("keys", keysOf(r, "xlm"), []reviewStep{stepKey, stepLog, stepResources})
	for _, line := range []string{"", "disk=3", "lots", "cpus=many", "runtime=soon"} {
		if err := r.setResources(line); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%q: %v", line, err)
		}
		r.start()
		r.press('m')
	}
	want("resources", r.setResources("memory=16g runtime=2h cpus=4"), nil)
	r.setReason("more")
	want("verdict", fmt.Sprintf("%+v", r.verdict), fmt.Sprintf("%+v", hold.HoldVerdict{Fingerprint: "a", Action: workflow.ActionRetry, Memory: "16g", Runtime: "2h", NumCPUs: 4, Reason: "more"}))
	want("effect", r.foresee(ready), true)
	want("no", r.press('n'), stepChoose)
	want("forgotten", r.verdict.Memory, "")
	want("retry", r.press('r'), stepReason)
	r.setReason("")
	want("reason", r.verdict.Reason, usualReason)
	r.foresee(ready)
	want("yes", r.press('y'), stepApply)
	want("then", r.applied(ready), stepChoose)
	want("group", r.verdict.Fingerprint, "b")
	want("skip", r.press('s'), stepChoose)
	want("fail", r.press('f'), stepReason)
	if r.foresee(&hold.VerdictOutcome{Error: "no such group"}) {
		t.Error("asks whether to do nothing")
	}
	want("end", r.press('q'), stepEnd)
	want("summary", r.summary(), "3 groups: 2 jobs get another attempt, 0 jobs have failed; 2 groups left undecided")
}

// TestReviewOfThousands: one request for each decision, whatever the number of jobs.
func TestReviewOfThousands(t *testing.T) {
	var groups []hold.HoldGroup
	var outcome hold.VerdictOutcome
	for g := range 10 {
		group := hold.HoldGroup{WorkflowID: 12, Fingerprint: fmt.Sprintf("f%d", g), Count: 500, ExampleID: int64(g*500 + 1), ExampleName: "sim", RetriesLeft: 3}
		for j := range 500 {
			group.JobIDs = append(group.JobIDs, int64(g*500+j+1))
		}
		groups = append(groups, group)
	}
	for j := range 500 {
		outcome.Jobs = append(outcome.Jobs, hold.HoldOutcome{JobID: int64(j), JobName: fmt.Sprintf("sim_%d", j), Resolved: true, Attempt: 2})
	}
	const post = "POST /workflows/12/hold_verdicts"
	got := clitest.Run(t, New, clitest.Case{Args: "holds review 12", Stdin: strings.Repeat("r\nthe network\ny", 9) + "s", Routes: clitest.Routes{
		"GET /holds": {Body: map[string]any{"groups": groups}}, post: {Body: map[string]any{"outcomes": []hold.VerdictOutcome{outcome}}},
	}})
	if got.Status != 0 || !strings.Contains(got.Stderr, "10 groups: 4500 jobs get another attempt, 0 jobs have failed; 1 group left undecided") {
		t.Errorf("status %d: %s", got.Status, got.Stderr)
	}
	if n := len(got.Requests); n != 1+9*2 {
		t.Errorf("%d requests", n)
	}
	if n := strings.Count(got.Stdout, "500 jobs (sim_0 and others): ready for attempt 2"); n != 18 {
		t.Errorf("%d effects: %s", n, got.Stdout)
	}
	if got := clitest.Run(t, New, clitest.Case{Args: "holds review 12 -f json"}); got.Status != cli.ExitUsage || !strings.Contains(got.Stderr, "is a dialogue") {
		t.Errorf("%+v", got)
	}
	clitest.Check(t, New, clitest.Case{Args: "holds review", Routes: clitest.Routes{"GET /holds": {Body: `{"groups":[]}`}}, Want: clitest.Result{
		Stderr: "No jobs are held.\n", Requests: []string{"GET /holds"}}})
}

func TestEffects(t *testing.T) {
	o := &hold.VerdictOutcome{}
	for i := range 12 {
		o.Jobs = append(o.Jobs, hold.HoldOutcome{JobName: "\x1b[2J", Error: fmt.Sprintf("error %d", i)})
	}
	lines := effects(o)
	if len(lines) != 9 || lines[8] != "and 4 more outcomes" || lines[0] != "1 job (·[2J): not resolved: error 0" {
		t.Errorf("%q", lines)
	}
}
