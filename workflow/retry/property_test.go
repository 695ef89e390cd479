package retry

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// decide is the decision about an attempt.
func decide(p Policies, h workflow.History, f workflow.Failure) workflow.Decision {
	return Decide(Facts{Policies: p, History: h, Failure: f}).Decision
}

// anyRule draws a rule of an id that is about a few causes.
func anyRule(t *rapid.T, id string) workflow.RetryRule {
	kinds := []workflow.CauseKind{workflow.CauseExit, workflow.CauseOOM, workflow.CausePreempted, workflow.CauseNodeFail, workflow.CauseWalltime}
	r := workflow.RetryRule{ID: id, Action: workflow.ActionRetry}
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
func anyFailure(t *rapid.T) workflow.Failure {
	kind := rapid.SampledFrom([]workflow.CauseKind{workflow.CauseExit, workflow.CauseOOM, workflow.CausePreempted, workflow.CauseNodeFail, workflow.CauseWalltime}).Draw(t, "kind")
	return workflow.Failure{Cause: workflow.Cause{Kind: kind, Status: workflow.Failed, ReturnCode: 1, ByDrain: kind == workflow.CauseWalltime && rapid.Bool().Draw(t, "drain")}}
}

// TestBudgetsHoldWhilePoliciesChange has a job fail again and again while its
// policy is edited: rules are moved, added, removed and get other limits.
func TestBudgetsHoldWhilePoliciesChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policies{Default: DefaultPolicy(), GlobalMaxRetries: new(rapid.Int64Range(0, 12).Draw(t, "global"))}
		p.Job = []workflow.RetryPolicy{{Name: "mine"}}
		h := workflow.History{AttemptID: 1}
		most := map[string]workflow.RuleCount{} // that an id was ever allowed
		for range rapid.IntRange(1, 25).Draw(t, "failures") {
			if rapid.Bool().Draw(t, "edit") {
				ids := rapid.Permutation([]string{"a", "b", "c", "d"}).Draw(t, "ids")[:rapid.IntRange(0, 4).Draw(t, "n")]
				p.Job[0].Rules = nil
				for _, id := range ids {
					p.Job[0].Rules = append(p.Job[0].Rules, anyRule(t, id))
				}
			}
			f := anyFailure(t)
			d := decide(p, h, f)
			want := firstMatch(&p, &f)
			if want != "" && d.Rule != want {
				t.Fatalf("%s decided by %q, the first rule that matches is %q", f.Cause.Kind, d.Rule, want)
			}
			if d.Retries() && d.Counted && f.Cause.PreemptedOrDrained() && !UsesBudget(&p, d.Rule) {
				t.Fatalf("%s used budget by rule %s, which does not say so", f.Cause.Kind, d.Rule)
			}
			if limit, known := RuleLimit(&p, d.Rule); known {
				most[d.Rule] = workflow.RuleCount{Counted: max(most[d.Rule].Counted, limit.Counted), Free: max(most[d.Rule].Free, limit.Free)}
			}
			h = h.After(d)
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
func firstMatch(p *Policies, f *workflow.Failure) string {
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
		p := workflow.RetryPolicy{Name: "p"}
		if p.Key(&a) != p.Key(&b) {
			t.Fatalf("the same matchers have the keys %s and %s", p.Key(&a), p.Key(&b))
		}
	})
}

// TestOtherRulesDoNotMatter: rules that are about nothing in common may be moved,
// added and removed; those that stay decide as before and count on.
func TestOtherRulesDoNotMatter(t *testing.T) {
	kinds := []workflow.CauseKind{workflow.CauseExit, workflow.CauseOOM, workflow.CausePreempted, workflow.CauseNodeFail, workflow.CauseLaunch, workflow.CauseTimeout}
	rapid.Check(t, func(t *rapid.T) {
		var rules []workflow.RetryRule
		for _, k := range kinds { // one each
			r := anyRule(t, rapid.SampledFrom([]string{"", string(k)}).Draw(t, "id"))
			r.When.Cause = []workflow.CauseKind{k}
			r.Backoff = &workflow.Backoff{Initial: "1s"}
			rules = append(rules, r)
		}
		before := Policies{Job: []workflow.RetryPolicy{{Name: "mine", RetryLimit: new(int64(3)), Rules: rules}}}
		h := workflow.History{AttemptID: 1}
		for range rapid.IntRange(0, 8).Draw(t, "failures") {
			k := rapid.SampledFrom(kinds).Draw(t, "kind")
			h = h.After(decide(before, h, workflow.Failure{Cause: workflow.Cause{Kind: k, Status: workflow.Failed, ReturnCode: 1}}))
		}
		edited := rapid.Permutation(rules).Draw(t, "order")[rapid.IntRange(0, 3).Draw(t, "removed"):]
		if rapid.Bool().Draw(t, "insert") {
			edited = slices.Insert(slices.Clone(edited), 0, workflow.RetryRule{When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseLost}}, Action: workflow.ActionFail})
		}
		after := Policies{Job: []workflow.RetryPolicy{{Name: "mine", RetryLimit: new(int64(3)), Rules: edited}}}
		for _, r := range edited {
			f := workflow.Failure{Cause: workflow.Cause{Kind: r.When.Cause[0], Status: workflow.Failed, ReturnCode: 1}}
			want, got := decide(before, h, f), decide(after, h, f)
			if r.When.Cause[0] == workflow.CauseLost {
				continue
			}
			if want.Action != got.Action || want.Rule != got.Rule || want.Reason != got.Reason || want.Delay != got.Delay || want.Counted != got.Counted {
				t.Fatalf("%s: was %+v, is %+v", f.Cause.Kind, want, got)
			}
		}
	})
}

// TestRetriesEnd: whatever fails, and however often, after as many retries as the
// rules may grant in all there is none any more.
func TestRetriesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policies{Default: DefaultPolicy(), GlobalMaxRetries: new(rapid.Int64Range(0, 9).Draw(t, "global"))}
		p.Job = []workflow.RetryPolicy{{Name: "mine", DefaultAction: rapid.SampledFrom([]workflow.Action{"", workflow.ActionRetry}).Draw(t, "default")}}
		most := *p.GlobalMaxRetries + 2*DefaultMaxFree // of the server's policy
		for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
			r := anyRule(t, fmt.Sprint(i))
			p.Job[0].Rules = append(p.Job[0].Rules, r)
			if r.MayBeFree() {
				most += maxFreeRetries(&r)
			}
		}
		if p.Job[0].DefaultAction == workflow.ActionRetry {
			most += DefaultMaxFree
		}
		h := workflow.History{AttemptID: 1}
		failures := rapid.SliceOfN(rapid.Custom(anyFailure), 1, 5).Draw(t, "failures") // again and again
		refused := 0
		for n := int64(0); refused < len(failures); n++ {
			if n > most*int64(len(failures)+1) {
				t.Fatalf("after %d failures there are still retries, %d could be granted", n, most)
			}
			d := decide(p, h, failures[n%int64(len(failures))])
			if refused++; d.Retries() {
				refused = 0
			}
			h = h.After(d)
		}
		if h.AttemptID-1 > most {
			t.Fatalf("%d retries, at most %d could be granted", h.AttemptID-1, most)
		}
	})
}

// TestDelaysAreKept: a decision's delay is what its backoff says for so many
// retries of its rule, in exact arithmetic up to the cap, and never less than the
// two minutes that an attempt that may still run is waited for.
func TestDelaysAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		initial, factor := rapid.Int64Range(0, 300).Draw(t, "initial"), rapid.Int64Range(1, 1000).Draw(t, "factor")
		limit := rapid.Int64Range(initial, 1_000_000).Draw(t, "max")
		kind := rapid.SampledFrom([]workflow.BackoffKind{"", workflow.BackoffFixed, workflow.BackoffLinear, workflow.BackoffExponential}).Draw(t, "kind")
		b := &workflow.Backoff{Kind: kind, Initial: fmt.Sprintf("%ds", initial), Factor: new(float64(factor)), Max: fmt.Sprintf("%ds", limit)}
		p := Policies{Job: []workflow.RetryPolicy{{Name: "mine", Rules: []workflow.RetryRule{{ID: "r", Action: workflow.ActionRetry, Limit: new(int64(workflow.MaxRetryLimit)), Backoff: b}}}},
			GlobalMaxRetries: new(int64(workflow.MaxRetryLimit))}
		n := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, workflow.MaxRetryLimit-1)).Draw(t, "used")
		f := workflow.Failure{Cause: workflow.Cause{Kind: workflow.CauseExit, Status: workflow.Failed, ReturnCode: 1, MayStillRun: rapid.Bool().Draw(t, "may still run")}}
		d := decide(p, workflow.History{AttemptID: n + 1, CountedFails: n, Rules: map[string]workflow.RuleCount{"mine/r": {Counted: n}}}, f)
		want := big.NewInt(initial)
		switch kind {
		case workflow.BackoffFixed:
		case workflow.BackoffLinear:
			want.Mul(want, big.NewInt(1+factor*n))
		default:
			want.Mul(want, new(big.Int).Exp(big.NewInt(factor), big.NewInt(min(n, 100)), nil)) // beyond, it is capped or does not grow
		}
		if most := big.NewInt(limit); want.Cmp(most) > 0 {
			want = most
		}
		promised := time.Duration(want.Int64()) * time.Second
		if f.Cause.MayStillRun {
			promised = max(promised, unreachableDelay)
		}
		if !d.Retries() || (max(d.Delay, d.Settle)-promised).Abs() > time.Microsecond {
			t.Fatalf("retry %d of %+v: %s, want %s", n+1, *b, max(d.Delay, d.Settle), promised)
		}
	})
}
