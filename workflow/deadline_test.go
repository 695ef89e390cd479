package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// TestHoldLimit: a job of which nobody says anything in time ends, unless it is to
// be repeated, and the classification says for how long it was waited.
func TestHoldLimit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limit  *HoldLimit
		due    *int64
		status JobStatus
		reason string
	}{
		{"none", nil, nil, Failed, "no user classified it"},
		{"fails by default", &HoldLimit{After: "PT2H"}, ptr(nowMS + 7_200_000), Failed, "no user classified it within 2h"},
		{"fails", &HoldLimit{After: "PT2H", OnTimeout: ActionFail}, ptr(nowMS + 7_200_000), Failed, "no user classified it within 2h"},
		{"is repeated", &HoldLimit{After: "90s", OnTimeout: ActionRetry}, ptr(nowMS + 90_000), Ready, "no user classified it within 1m30s"},
	} {
		h := Hold{Reason: "nothing matched", SinceMS: nowMS}
		h.SetDeadline(HoldLimitSource{}, HoldLimitSource{Limit: tc.limit, Of: "the workflow"}, HoldLimitSource{Of: "site x"})
		if diff := cmp.Diff(tc.due, h.DeadlineMS); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
		if tc.limit != nil && h.OnTimeout != ActionFail && h.OnTimeout != ActionRetry {
			t.Errorf("%s: the hold does not say what follows: %q", tc.name, h.OnTimeout)
		}
		c := hold.AtDeadline(&h)
		if c.Status != tc.status || c.Reason != tc.reason || c.Author != hold.AuthorDeadline {
			t.Errorf("%s: %+v", tc.name, c)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: the classification is refused: %v", tc.name, err)
		}
	}
}

func TestDeadlinesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    RunPolicy
		want []string
	}{
		{"good", RunPolicy{Deadline: &Deadline{After: "P7D", Policy: DeadlineStopNew}, ClassifyTimeout: &HoldLimit{After: "48h", OnTimeout: ActionRetry}}, nil},
		{"defaults", RunPolicy{Deadline: &Deadline{After: "P7D"}, ClassifyTimeout: &HoldLimit{After: "48h"}}, nil},
		{"no time", RunPolicy{Deadline: &Deadline{}, ClassifyTimeout: &HoldLimit{}}, []string{"deadline.after: it is missing", "classify_timeout.after: it is missing"}},
		{"wrong time", RunPolicy{Deadline: &Deadline{After: "0s"}, ClassifyTimeout: &HoldLimit{After: "x"}},
			[]string{"deadline.after: it must be at least a second", `classify_timeout.after: duration "x": not a number with a unit`}},
		{"wrong policy", RunPolicy{Deadline: &Deadline{After: "1h", Policy: "retry"}, ClassifyTimeout: &HoldLimit{After: "1h", OnTimeout: ActionHold}},
			[]string{`deadline.policy: invalid value "retry" of policy`, `classify_timeout.on_timeout: invalid value "hold" of on_timeout`}},
	} {
		checkProblems(t, tc.name, tc.p.Validate(), tc.want...)
	}
}

func TestDeadline(t *testing.T) {
	d := &Deadline{After: "P2D"}
	if due := d.DueMS(nowMS); due != nowMS+2*86_400_000 {
		t.Errorf("due %d ms after the start", due-nowMS)
	}
	if got := (&Deadline{After: "36h", Policy: DeadlineFail}).Reason(); got != "its deadline passed, 1d12h after its start (policy fail)" {
		t.Errorf("%q", got)
	}
}
