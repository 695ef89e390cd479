package workflow

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyRule draws a rule of an id that is about a few causes.
func anyRule(t *rapid.T, id string) RetryRule {
	kinds := []CauseKind{CauseExit, CauseOOM, CausePreempted, CauseNodeFail, CauseWalltime}
	r := RetryRule{ID: id, Action: ActionRetry}
	if rapid.Bool().Draw(t, "about causes") {
		r.When.Cause = rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, 3, rapid.ID).Draw(t, "cause")
	}
	limit := rapid.Int64Range(0, 4).Draw(t, "limit")
	switch rapid.IntRange(0, 2).Draw(t, "counted") {
	case 0:
		r.Limit = &limit
	case 1:
		r.Counted, r.Limit = new(true), &limit
	default:
		r.Counted, r.MaxFree = new(false), &limit
	}
	return r
}

// anyFailure draws a failure.
func anyFailure(t *rapid.T) Failure {
	kind := rapid.SampledFrom([]CauseKind{CauseExit, CauseOOM, CausePreempted, CauseNodeFail, CauseWalltime}).Draw(t, "kind")
	return Failure{Cause: Cause{Kind: kind, Status: Failed, ReturnCode: 1, ByDrain: kind == CauseWalltime && rapid.Bool().Draw(t, "drain")}}
}

// TestBudgetsHoldWhilePoliciesChange has a job fail again and again while its
// policy is edited: rules are moved, added, removed and get other limits.
func TestBudgetsHoldWhilePoliciesChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policies{Default: DefaultPolicy(), GlobalMaxRetries: new(rapid.Int64Range(0, 12).Draw(t, "global"))}
		p.Job = []RetryPolicy{{Name: "mine"}}
		h := History{AttemptID: 1}
		most := map[string]RuleCount{} // that an id was ever allowed
		for range rapid.IntRange(1, 25).Draw(t, "failures") {
			if rapid.Bool().Draw(t, "edit") {
				ids := rapid.Permutation([]string{"a", "b", "c", "d"}).Draw(t, "ids")[:rapid.IntRange(0, 4).Draw(t, "n")]
				p.Job[0].Rules = nil
				for _, id := range ids {
					p.Job[0].Rules = append(p.Job[0].Rules, anyRule(t, id))
				}
			}
			f := anyFailure(t)
			d := Decide(p, h, f)
			want := firstMatch(&p, &f)
			if want != "" && d.Rule != want {
				t.Fatalf("%s decided by %q, the first rule that matches is %q", f.Cause.Kind, d.Rule, want)
			}
			if d.Retries() && d.Counted && f.Cause.Taken() && !p.Counts(d.Rule) {
				t.Fatalf("%s used budget by rule %s, which does not say so", f.Cause.Kind, d.Rule)
			}
			if limit, known := p.RuleLimit(d.Rule); known {
				most[d.Rule] = RuleCount{Counted: max(most[d.Rule].Counted, limit.Counted), Free: max(most[d.Rule].Free, limit.Free)}
			}
			h = h.Grant(d)
			if n, limit := h.Rules[d.Rule], most[d.Rule]; d.Retries() && (n.Counted > limit.Counted || n.Free > limit.Free) {
				t.Fatalf("rule %s granted %+v, at most %+v was ever allowed", d.Rule, n, limit)
			}
			if h.CountedFails > *p.GlobalMaxRetries {
				t.Fatalf("%d counted retries, global_max_retries is %d", h.CountedFails, *p.GlobalMaxRetries)
			}
		}
	})
}

// firstMatch is the key of the first rule of the job's policy for a failure.
func firstMatch(p *Policies, f *Failure) string {
	for _, r := range p.Job[0].Rules {
		if r.When.Cause == nil || slices.Contains(r.When.Cause, f.Cause.Kind) {
			return fmt.Sprintf("mine/%s", r.ID)
		}
	}
	return ""
}

// TestTheKeyOfARuleIsItsMatchers: a rule without an id is told by what it
// matches, wherever it stands and whatever it does.
func TestTheKeyOfARuleIsItsMatchers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRule(t, ""), anyRule(t, "")
		b.When = a.When
		p := RetryPolicy{Name: "p"}
		if p.Key(&a) != p.Key(&b) {
			t.Fatalf("the same matchers have the keys %s and %s", p.Key(&a), p.Key(&b))
		}
	})
}
