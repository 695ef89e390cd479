package hold_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

const nowMS = int64(1_700_000_000_000)

func TestClaimHolds(t *testing.T) {
	breaker := hold.ClaimHold{Kind: hold.HoldBreaker, Reason: "circuit breaker a", SinceMS: nowMS - 60_000, UntilMS: nowMS + 600_000}
	later := hold.ClaimHold{Kind: hold.HoldBreaker, Reason: "circuit breaker b", SinceMS: nowMS - 30_000, UntilMS: nowMS + 3_600_000}
	failures := hold.ClaimHold{Kind: hold.HoldMaxFailures, Reason: "5 jobs have failed", SinceMS: nowMS - 90_000}
	deadline := hold.ClaimHold{Kind: hold.HoldDeadline, Reason: "the deadline has passed", SinceMS: nowMS - 90_000}
	for _, tc := range []struct {
		name   string
		holds  hold.ClaimHolds
		until  int64
		reason string
		line   string // the first one of why
		next   string
	}{
		{"one that ends", hold.ClaimHolds{breaker}, nowMS + 600_000, "claims are held: circuit breaker a", "circuit breaker a; held for 1m, ends in 10m", "claims resume in 10m, or when a user lifts"},
		{"the later end counts", hold.ClaimHolds{breaker, later}, nowMS + 3_600_000, "claims are held: circuit breaker b, and 1 other reason", "circuit breaker a; held for 1m, ends in 10m",
			"claims resume in 1h, or when a user lifts"},
		{"one that somebody has to end", hold.ClaimHolds{breaker, failures, later}, 0, "claims are held: 5 jobs have failed, and 2 other reasons", "circuit breaker a; held for 1m, ends in 10m",
			"a user has to lift the hold (workflows resume 7), raise max_failures"},
		{"the deadline", hold.ClaimHolds{deadline}, 0, "claims are held: the deadline has passed", "the deadline has passed; held for 1m30s, until a user lifts the hold",
			"a user has to lift the hold (workflows resume 7), or cancel or reset the workflow"},
	} {
		if got := tc.holds.UntilMS(); got != tc.until {
			t.Errorf("%s: until %d", tc.name, got)
		}
		if got := tc.holds.Reason(); got != tc.reason {
			t.Errorf("%s: %q", tc.name, got)
		}
		f := explain.WorkflowFacts{NowMS: nowMS, ID: 7, RunID: 1, Counts: stage.Counts{ByStatus: StatusCounts{Ready: 2}}, ClaimHolds: tc.holds}
		e := explain.Workflow(f)
		if !strings.HasPrefix(e.Next, tc.next) {
			t.Errorf("%s: next %q", tc.name, e.Next)
		}
		if !slices.ContainsFunc(e.Sections, func(s explain.ExplanationSection) bool { return len(s.Lines) == len(tc.holds) && s.Lines[0] == tc.line }) {
			t.Errorf("%s: %+v", tc.name, e.Sections)
		}
	}
	if got := (hold.ClaimHolds)(nil).Reason(); got != "" {
		t.Errorf("nothing holds, but %q", got)
	}
}
