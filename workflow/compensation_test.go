package workflow_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

func TestCompensates(t *testing.T) {
	all := []EventType{EventWorkflowCompleted, EventWorkflowFailed, EventWorkflowCanceled}
	for _, tc := range []struct {
		policy *CompensationPolicy
		want   [3]bool // after each of all
		within time.Duration
	}{
		{nil, [3]bool{false, true, false}, 24 * time.Hour},
		{&CompensationPolicy{Timeout: "PT2H"}, [3]bool{false, true, false}, 2 * time.Hour},
		{&CompensationPolicy{When: []CompensationCase{CompensateCanceled}}, [3]bool{false, false, true}, 24 * time.Hour},
		{&CompensationPolicy{When: []CompensationCase{CompensateFailed, CompensateCanceled}}, [3]bool{false, true, true}, 24 * time.Hour},
	} {
		p := RunPolicy{OnFailure: tc.policy}
		for i, verdict := range all {
			if within, ok := p.Compensates(verdict); ok != tc.want[i] || within != tc.within {
				t.Errorf("%+v after %s: %v, %v", tc.policy, verdict, within, ok)
			}
		}
	}
}

func TestCompensationIsChecked(t *testing.T) {
	for want, c := range map[string]CompensationPolicy{
		`invalid value "late" of when`:      {When: []CompensationCase{"late"}},
		`duplicate failed`:                  {When: []CompensationCase{CompensateFailed, CompensateFailed}},
		`duration "soon"`:                   {Timeout: "soon"},
		`timeout must be at least a second`: {Timeout: "999ms"},
		`an empty list`:                     {When: []CompensationCase{}},
		`invalid number of attempts: 0`:     {MaxAttempts: new(int64)},
	} {
		found := (&RunPolicy{OnFailure: &c}).Validate()
		if len(found) != 1 || !strings.Contains(found[0].Message, want) || !strings.HasPrefix(found[0].Path, "on_failure.") {
			t.Errorf("found %+v, want %s", found, want)
		}
	}
}

// TestCompensationNeverWaits: a job of a compensation is repeated for its own
// attempts, whatever budgets are spent, and is never held.
func TestCompensationNeverWaits(t *testing.T) {
	none := int64(0)
	for _, attempts := range []int64{1, 3} {
		p := CompensationPolicy{MaxAttempts: &attempts}
		retries := p.Retries()
		if found := retries.Validate(); len(found) > 0 {
			t.Fatal(found)
		}
		policies := retry.Policies{Job: []RetryPolicy{*retries}, Default: retry.DefaultPolicy(), UsePendingFailed: true, MaxRetriesTotal: &none}
		h := History{AttemptID: 1}
		granted := int64(0)
		for {
			d := decided(policies, h, Failure{Cause: Cause{Kind: CauseExit, Status: Failed, ReturnCode: 1}})
			if d.Action != ActionRetry {
				if d.Action != ActionFail {
					t.Errorf("the last decision is %s: %s", d.Action, d.Reason)
				}
				break
			}
			h = h.After(d)
			h.AttemptID++
			granted++
		}
		if granted != attempts-1 {
			t.Errorf("%d retries with %d attempts", granted, attempts)
		}
		d := decided(policies, h, Failure{Cause: Cause{Kind: CausePreempted, Status: Terminated}})
		if d.Action != ActionRetry || d.Counted {
			t.Errorf("preempted: %+v", d)
		}
	}
}
