package workflow_test

import (
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// TestEndJobEnds: whatever happens to an end job, it ends by itself: it is
// repeated as often as it says after its own failures, three times after those of
// nodes, and never held.
func TestEndJobEnds(t *testing.T) {
	for _, tc := range []struct {
		retries int64
		kind    CauseKind
		granted int64
	}{
		{0, CauseExit, 0},
		{2, CauseExit, 2},
		{2, CauseTimeout, 2},
		{0, CauseNodeFail, 3},
		{0, CauseLost, 3},
		{5, CauseLost, 3},
		{0, CauseLaunch, 3},
	} {
		e := EndJob{Command: "tell", Retries: tc.retries}
		j, err := e.Job("end", 1)
		if err != nil {
			t.Fatal(err)
		}
		p := retry.Policies{Job: []RetryPolicy{*j.Policy.RetryPolicies[0].Policy}, Default: retry.DefaultPolicy(), UsePendingFailed: true}
		h := History{AttemptID: 1}
		granted := int64(0)
		d := decided(p, h, Failure{Cause: Cause{Kind: tc.kind, Status: Failed, ReturnCode: 1}})
		for d.Action == ActionRetry && granted < 100 {
			granted++
			h = h.After(d)
			d = decided(p, h, Failure{Cause: Cause{Kind: tc.kind, Status: Failed, ReturnCode: 1}})
		}
		if granted != tc.granted || d.Action != ActionFail {
			t.Errorf("retries %d, %s: %d retries, then %s (%s)", tc.retries, tc.kind, granted, d.Action, d.Reason)
		}
		for _, taken := range []Cause{{Kind: CausePreempted, Status: Terminated}, {Kind: CauseWalltime, ByDrain: true, Status: Terminated}} {
			if d := decided(p, h, Failure{Cause: taken}); d.Action != ActionRetry || d.Counted {
				t.Errorf("retries %d, then %s: %+v", tc.retries, taken.Kind, d)
			}
		}
	}
}

func TestEndJobIsChecked(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    EndJob
		want string // empty: good
	}{
		{"least", EndJob{Command: "x"}, ""},
		{"all", EndJob{Command: "x", Where: EndInAllocation, Timeout: "P7D", Retries: 3}, ""},
		{"only a space", EndJob{Command: " "}, "end.job.command: the end job needs a command"},
		{"no command", EndJob{}, "end.job.command: the end job needs a command"},
		{"on the login node", EndJob{Command: "x", Where: EndOnLogin}, ""},
		{"elsewhere", EndJob{Command: "x", Where: "moon"}, `end.job.where: invalid value "moon" of where`},
		{"too short", EndJob{Command: "x", Timeout: "0s"}, "end.job.timeout: invalid timeout 0s of the end job"},
		{"too long", EndJob{Command: "x", Timeout: "P7DT1S"}, "end.job.timeout: invalid timeout P7DT1S of the end job"},
		{"no time", EndJob{Command: "x", Timeout: "soon"}, `end.job.timeout: duration "soon": not a number with a unit`},
		{"retries", EndJob{Command: "x", Retries: -1}, "end.job.retries: invalid number of retries: -1"},
	} {
		err := ProblemsError("", (&RunPolicy{End: &EndPolicy{Job: &tc.e}}).Validate())
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := (&EndJob{Command: "x", Timeout: "soon"}).Job("end", 1); CodeOf(err) != CodeInvalid {
		t.Errorf("a job with a timeout that cannot be read: %v", err)
	}
	for timeout, want := range map[string]int64{"": 600, "90s": 90, "1500ms": 2, "PT0.5S": 1, "PT2H": 7200} {
		j, err := (&EndJob{Command: "x", Timeout: timeout}).Job("end", 1)
		if err != nil || j.RunTimeout == nil || *j.RunTimeout != (RunTimeout{AfterSeconds: want, GraceSeconds: 30}) {
			t.Errorf("timeout %q: %+v, %v", timeout, j.RunTimeout, err)
		}
	}
}
