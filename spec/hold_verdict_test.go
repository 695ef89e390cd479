package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func TestParseHoldVerdicts(t *testing.T) {
	const text = `
- {job: 42, action: retry, memory: 16g, reason: needs more, confidence: likely, author: ann}
- {fingerprint: 3f9a52c01b7e, action: fail, reason: broken input}
- {job: a, acton: retry, reason: x}
- {job: a, action: retry, reason: ''}
- retry
- {job: a, action: later, reason: x}
- {job_ids: [4, 5], action: retry, num_cpus: 2, reason: slow}
`
	verdicts, err := ParseHoldVerdicts("v.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []hold.HoldVerdict{
		{Job: "42", Action: workflow.ActionRetry, Memory: "16g", Reason: "needs more", Confidence: workflow.Likely, Author: "ann"},
		{Fingerprint: "3f9a52c01b7e", Action: workflow.ActionFail, Reason: "broken input"},
		6: {JobIDs: []int64{4, 5}, Action: workflow.ActionRetry, NumCPUs: 2, Reason: "slow"},
	}
	problems := []string{"", "", `did you mean action?`, "needs a reason", "v.yaml:6:3: [4]: expected a verdict, found a string", `invalid value "later" of action`, ""}
	for i, v := range verdicts {
		switch problem := problems[i]; {
		case problem == "":
			if diff := cmp.Diff(want[i], v.HoldVerdict); diff != "" || v.Err != nil {
				t.Errorf("entry %d: %v (-want +got):\n%s", i, v.Err, diff)
			}
		case v.Err == nil || !strings.Contains(v.Err.Error(), problem):
			t.Errorf("entry %d: %v, want %s", i, v.Err, problem)
		}
		if !strings.HasPrefix(v.Place, "v.yaml:") {
			t.Errorf("entry %d is at %s", i, v.Place)
		}
	}
	for text, want := range map[string]string{
		`{"verdicts": [{"job": 1, "action": "fail", "reason": "x"}]}`: "",
		`[]`: "the list of verdicts is empty", `job: a`: "expected a list of verdicts, found a map", `[{`: "v:1:", ``: "train_3",
	} {
		if _, err := ParseHoldVerdicts("v", []byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
