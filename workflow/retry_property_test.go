package workflow

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

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

// TestOtherRulesDoNotMatter: rules that are about nothing in common may be moved,
// added and removed; those that stay decide as before and count on.
func TestOtherRulesDoNotMatter(t *testing.T) {
	kinds := []CauseKind{CauseExit, CauseOOM, CausePreempted, CauseNodeFail, CauseLaunch, CauseTimeout}
	rapid.Check(t, func(t *rapid.T) {
		var rules []RetryRule
		for _, k := range kinds { // one each
			r := anyRule(t, rapid.SampledFrom([]string{"", string(k)}).Draw(t, "id"))
			r.When.Cause = []CauseKind{k}
			r.Backoff = &Backoff{Initial: "1s"}
			rules = append(rules, r)
		}
		before := Policies{Job: []RetryPolicy{{Name: "mine", RetryLimit: new(int64(3)), Rules: rules}}}
		h := History{AttemptID: 1}
		for range rapid.IntRange(0, 8).Draw(t, "failures") {
			k := rapid.SampledFrom(kinds).Draw(t, "kind")
			h = h.Grant(Decide(before, h, Failure{Cause: Cause{Kind: k, Status: Failed, ReturnCode: 1}}))
		}
		edited := rapid.Permutation(rules).Draw(t, "order")[rapid.IntRange(0, 3).Draw(t, "removed"):]
		if rapid.Bool().Draw(t, "insert") {
			edited = slices.Insert(slices.Clone(edited), 0, RetryRule{When: RuleMatch{Cause: []CauseKind{CauseLost}}, Action: ActionFail})
		}
		after := Policies{Job: []RetryPolicy{{Name: "mine", RetryLimit: new(int64(3)), Rules: edited}}}
		for _, r := range edited {
			f := Failure{Cause: Cause{Kind: r.When.Cause[0], Status: Failed, ReturnCode: 1}}
			want, got := Decide(before, h, f), Decide(after, h, f)
			if r.When.Cause[0] == CauseLost {
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
		p.Job = []RetryPolicy{{Name: "mine", DefaultAction: rapid.SampledFrom([]Action{"", ActionRetry}).Draw(t, "default")}}
		most := *p.GlobalMaxRetries + 2*DefaultMaxFree // of the server's policy
		for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
			r := anyRule(t, fmt.Sprint(i))
			p.Job[0].Rules = append(p.Job[0].Rules, r)
			if r.mayBeFree() {
				most += p.maxFree(&r)
			}
		}
		if p.Job[0].DefaultAction == ActionRetry {
			most += DefaultMaxFree
		}
		h := History{AttemptID: 1}
		failures := rapid.SliceOfN(rapid.Custom(anyFailure), 1, 5).Draw(t, "failures") // again and again
		refused := 0
		for n := int64(0); refused < len(failures); n++ {
			if n > most*int64(len(failures)+1) {
				t.Fatalf("after %d failures there are still retries, %d could be granted", n, most)
			}
			d := Decide(p, h, failures[n%int64(len(failures))])
			if refused++; d.Retries() {
				refused = 0
			}
			h = h.Grant(d)
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
		kind := rapid.SampledFrom([]BackoffKind{"", BackoffFixed, BackoffLinear, BackoffExponential}).Draw(t, "kind")
		b := &Backoff{Kind: kind, Initial: fmt.Sprintf("%ds", initial), Factor: new(float64(factor)), Max: fmt.Sprintf("%ds", limit)}
		p := Policies{Job: []RetryPolicy{{Name: "mine", Rules: []RetryRule{{ID: "r", Action: ActionRetry, Limit: new(int64(MaxRetryLimit)), Backoff: b}}}},
			GlobalMaxRetries: new(int64(MaxRetryLimit))}
		n := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, MaxRetryLimit-1)).Draw(t, "used")
		f := Failure{Cause: Cause{Kind: CauseExit, Status: Failed, ReturnCode: 1, MayStillRun: rapid.Bool().Draw(t, "may still run")}}
		d := Decide(p, History{AttemptID: n + 1, CountedFails: n, Rules: map[string]RuleCount{"mine/r": {Counted: n}}}, f)
		want := big.NewInt(initial)
		switch kind {
		case BackoffFixed:
		case BackoffLinear:
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
