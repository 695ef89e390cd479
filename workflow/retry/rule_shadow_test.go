package retry_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// when draws matchers of a few values, so that rules overlap often.
func when(t *rapid.T) RuleMatch {
	var m RuleMatch
	some := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	if rapid.Bool().Draw(t, "cause given") {
		m.Cause = rapid.SliceOfNDistinct(rapid.SampledFrom([]CauseKind{CauseExit, CauseOOM, CauseLaunch, CauseWalltime}), 1, 4, rapid.ID).Draw(t, "cause")
	}
	codes := rapid.SliceOfNDistinct(rapid.Int64Range(1, 3), 1, 3, rapid.ID)
	if some("in") {
		m.ExitCode = &ExitCodeMatch{In: codes.Draw(t, "codes")}
	} else if some("not in") {
		m.ExitCode = &ExitCodeMatch{NotIn: codes.Draw(t, "codes")}
	}
	if some("attempt") {
		m.Attempt = &AttemptMatch{GTE: new(rapid.Int64Range(1, 2).Draw(t, "gte")), LTE: new(rapid.Int64Range(2, 3).Draw(t, "lte"))}
	}
	if some("elapsed") {
		m.Elapsed = &ElapsedMatch{GTE: rapid.SampledFrom([]string{"", "1s"}).Draw(t, "elapsed gte"), LT: "2s"}
	}
	if some("node") {
		m.Node = rapid.SampledFrom([][]string{{"n1"}, {"n2"}, {"n1", "n2"}}).Draw(t, "node")
	}
	if some("recovery") {
		m.Component = ComponentRecovery
	}
	return m
}

// TestShadowedRulesAreNeverReached checks that a rule that Validate calls unreachable decides
// about no failure.
func TestShadowedRulesAreNeverReached(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := RetryPolicy{Name: "p"}
		for _, id := range []string{"a", "b", "c"} {
			p.Rules = append(p.Rules, RetryRule{ID: id, When: when(t), Action: ActionHold})
		}
		for i, id := range []string{"a", "b", "c"} {
			unreachable := slices.ContainsFunc(p.Validate(), func(x Problem) bool {
				return x.Path == fmt.Sprintf("rules[%d]", i) && strings.HasPrefix(x.Message, "this rule never applies")
			})
			if !unreachable {
				continue
			}
			found++
			for range 20 {
				f := Failure{Cause: cause(rapid.SampledFrom([]CauseKind{CauseExit, CauseOOM, CauseLaunch, CauseWalltime}).Draw(t, "kind")),
					Node: rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "on"), Elapsed: rapid.SampledFrom([]time.Duration{0, 1e9, 3e9}).Draw(t, "took")}
				f.Cause.ReturnCode = rapid.Int64Range(1, 4).Draw(t, "code")
				h := History{AttemptID: rapid.Int64Range(1, 4).Draw(t, "number")}
				d := decide(retry.Policies{Job: []RetryPolicy{p}}, h, f)
				if d.Rule != "p/"+id {
					d = decideRecovery(retry.Policies{Job: []RetryPolicy{p}}, h, f, ActionFail)
				}
				if d.Rule == "p/"+id {
					text, _ := json.Marshal(p)
					t.Fatalf("rule %s decided about %+v:\n%s", id, f, text)
				}
			}
		}
	})
	if found == 0 {
		t.Error("no policy had a rule that never applies")
	}
}
