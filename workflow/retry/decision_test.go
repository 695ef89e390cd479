package retry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
	"github.com/torc-slurm/torc-slurm/workflow/workflowtest"
)

func exit(n int64) Cause { return Cause{Kind: CauseExit, Status: Failed, ReturnCode: n} }

func cause(k CauseKind) Cause {
	c := Cause{Kind: k, Status: workflowtest.StatusOfCause[k]}
	if k != CauseOK {
		c.ReturnCode = 7
	}
	return c
}

func TestDecide(t *testing.T) {
	handler := &FailureHandlerDefinition{Name: "simulation", Rules: []FailureRule{
		{MatchAllExitCodes: true, MaxRetries: 2},
		{ExitCodes: []int64{10, 11}, RecoveryScript: "./fix.sh", MaxRetries: 3},
		{ExitCodes: []int64{10}, MaxRetries: 9},
	}}
	exact := &FailureHandlerDefinition{Name: "exact", Rules: []FailureRule{{ExitCodes: []int64{10}, MaxRetries: 3}}}
	drained := Cause{Kind: CauseWalltime, Status: Terminated, ReturnCode: 152, ByDrain: true}
	elsewhere := &AvoidNodes{Mode: AvoidLast}
	used := func(rule string, counted, free int64) History {
		return History{Rules: map[string]RuleCount{rule: {Counted: counted, Free: free}}}
	}
	tests := []struct {
		name string
		p    retry.Policies
		h    History
		c    Cause
		want Decision
	}{
		{name: "success", c: cause(CauseOK), want: Decision{Action: ActionNone, Reason: "successful"}},
		{name: "canceled", p: retry.Policies{Handler: handler, UsePendingFailed: true}, c: cause(CauseCanceledUser),
			want: Decision{Action: ActionNone, Reason: "canceled: no retry"}},
		{name: "never started", c: cause(CauseNeverStarted),
			want: Decision{Action: ActionRetry, Rule: "never_started", Reason: "never started, so it does not count as an attempt"}},
		{name: "no rule", c: exit(1), want: Decision{Action: ActionFail, Reason: "no rule for cause exit"}},
		{name: "no rule, held", p: retry.Policies{UsePendingFailed: true}, c: exit(1),
			want: Decision{Action: ActionHold, Reason: "no rule for cause exit; it waits for a classification"}},
		{name: "no rule, never held", p: retry.Policies{UsePendingFailed: true, NeverHeld: true}, c: exit(1),
			want: Decision{Action: ActionFail, Reason: "no rule for cause exit; it waits for a classification; it is not held, because the end of the run would wait for a decision"}},
		{name: "no rule of the handler, held", p: retry.Policies{Handler: exact, UsePendingFailed: true}, c: exit(1),
			want: Decision{Action: ActionHold, Reason: "no rule of handler exact for return code 1; it waits for a classification"}},
		{name: "exact rule beats match-all wherever it stands", p: retry.Policies{Handler: handler}, c: exit(10),
			want: Decision{Action: ActionRecover, Rule: "handler:simulation/2", Counted: true, RecoveryScript: "./fix.sh",
				OnRecoveryError: ActionRetry, Reason: "rule 2 of handler simulation: exit code 10, attempt 1 of 3"}},
		{name: "second attempt", p: retry.Policies{Handler: handler}, h: History{AttemptID: 2, CountedFails: 1}, c: exit(10),
			want: Decision{Action: ActionRecover, Rule: "handler:simulation/2", Counted: true, RecoveryScript: "./fix.sh",
				OnRecoveryError: ActionRetry, Reason: "rule 2 of handler simulation: exit code 10, attempt 2 of 3"}},
		{name: "attempts used up: fail, no hold, no other rule", p: retry.Policies{Handler: handler, UsePendingFailed: true},
			h: History{AttemptID: 3, CountedFails: 2}, c: exit(10),
			want: Decision{Action: ActionFail, Rule: "handler:simulation/2",
				Reason: "rule 2 of handler simulation: exit code 10, attempt 3 of 3, none left"}},
		{name: "uncounted attempts do not use it up", p: retry.Policies{Handler: exact}, h: History{AttemptID: 7, CountedFails: 1}, c: exit(10),
			want: Decision{Action: ActionRetry, Rule: "handler:exact/1", Counted: true,
				Reason: "rule 1 of handler exact: exit code 10, attempt 2 of 3"}},
		{name: "match-all", p: retry.Policies{Handler: handler}, c: cause(CauseOOM),
			want: Decision{Action: ActionRetry, Rule: "handler:simulation/1", Counted: true,
				Reason: "rule 1 of handler simulation: oom, return code 7, attempt 1 of 2"}},
		{name: "a handler does not treat a full disk", p: retry.Policies{Handler: handler}, c: cause(CauseDiskFull),
			want: Decision{Action: ActionFail, Reason: "no rule for cause disk_full, to which failure handlers do not apply"}},
		{name: "preempted, in spite of a handler", p: retry.Policies{Handler: handler}, c: cause(CausePreempted),
			want: Decision{Action: ActionRetry, Rule: "default/preempted", Reason: "rule default/preempted: preempted, free retry 1 of 50"}},
		{name: "preempted too often", h: used("default/preempted", 0, 50), c: cause(CausePreempted),
			want: Decision{Action: ActionFail, Rule: "default/preempted",
				Reason: "rule default/preempted: preempted, all 50 free retries used"}},
		{name: "our drain", c: drained,
			want: Decision{Action: ActionRetry, Rule: "default/drained", Reason: "rule default/drained: walltime, free retry 1 of 50"}},
		{name: "walltime otherwise", c: cause(CauseWalltime), want: Decision{Action: ActionFail, Reason: "no rule for cause walltime"}},
		{name: "node failure", h: used("default/infra", 2, 0), c: cause(CauseNodeFail),
			want: Decision{Action: ActionRetry, Rule: "default/infra", Counted: true, Avoid: elsewhere,
				Reason: "rule default/infra: node_fail, retry 3 of 3"}},
		{name: "node failure and loss share a budget", h: used("default/infra", 3, 0), c: cause(CauseLost),
			want: Decision{Action: ActionFail, Rule: "default/infra", Reason: "rule default/infra: lost, all 3 retries used"}},
		{name: "lost where nobody can look", c: Cause{Kind: CauseLost, Status: Failed, ReturnCode: -128, MayStillRun: true},
			want: Decision{Action: ActionRetry, Rule: "default/infra", Counted: true, Avoid: elsewhere, Settle: 2 * time.Minute,
				Reason: "rule default/infra: lost, retry 1 of 3"}},
		{name: "launch on a node", c: cause(CauseLaunch),
			want: Decision{Action: ActionRetry, Rule: "default/launch", Counted: true, Avoid: elsewhere, Delay: 5 * time.Second,
				Reason: "rule default/launch: launch, retry 1 of 3"}},
		{name: "launch of a command", c: Cause{Kind: CauseLaunch, Status: Failed, ReturnCode: 127, OfCommand: true},
			want: Decision{Action: ActionFail, Reason: "no rule for cause launch"}},
		{name: "a torc client's own word", p: retry.Policies{Handler: handler, UsePendingFailed: true}, h: History{ReportedByOld: true}, c: exit(10),
			want: Decision{Action: ActionFail, Reason: "reported by a client that decides itself: failed"}},
		{name: "a torc client's terminated", h: History{ReportedByOld: true}, c: drained,
			want: Decision{Action: ActionFail, Reason: "reported by a client that decides itself: terminated"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.Default = retry.DefaultPolicy()
			got := decide(tt.p, tt.h, Failure{Cause: tt.c})
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Decision{}, "PolicyHash")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyRuleThatDoesNotRetry(t *testing.T) {
	p := retry.Policies{Default: RetryPolicy{Name: "p", Rules: []RetryRule{{ID: "bad", When: RuleMatch{Cause: []CauseKind{CauseDiskFull}}, Action: ActionHold}}}}
	got := decide(p, History{}, Failure{Cause: cause(CauseDiskFull)})
	want := Decision{Action: ActionHold, Rule: "p/bad", Reason: "rule p/bad: disk_full", PolicyHash: p.Hash()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicyHashTellsRulesApart(t *testing.T) {
	a := retry.Policies{Default: retry.DefaultPolicy()}
	b := retry.Policies{Default: retry.DefaultPolicy()}
	if a.Hash() != b.Hash() {
		t.Error("equal policies, different hashes")
	}
	b.Default.Rules[0].MaxFree = new(int64)
	c := retry.Policies{Default: retry.DefaultPolicy(), UsePendingFailed: true}
	d := retry.Policies{Default: retry.DefaultPolicy(), Handler: &FailureHandlerDefinition{Rules: []FailureRule{{MaxRetries: 2}}}}
	if a.Hash() == b.Hash() || a.Hash() == c.Hash() || a.Hash() == d.Hash() {
		t.Error("different policies, equal hashes")
	}
}

func TestDecideClassified(t *testing.T) {
	h := History{AttemptID: 1}
	for n := range ClassifiedRetryLimit {
		d, err := decideClassified(retry.Policies{}, h, hold.AuthorDeadline)
		if err != nil {
			t.Fatalf("retry %d: %v", n+1, err)
		}
		h = h.After(d)
	}
	if _, err := decideClassified(retry.Policies{}, h, "ann"); CodeOf(err) != CodeConflict {
		t.Errorf("after %d retries: %v", ClassifiedRetryLimit, err)
	}
	none := retry.Policies{GlobalMaxRetries: new(int64)}
	if _, err := decideClassified(none, History{AttemptID: 1}, hold.AuthorDeadline); CodeOf(err) != CodeConflict {
		t.Errorf("a deadline grants a retry where there is none: %v", err)
	}
	if d, err := decideClassified(none, History{AttemptID: 1}, "ann"); err != nil || !d.Retries() {
		t.Errorf("a person gets no retry: %+v, %v", d, err)
	}
	if h.Attempt() != 1+ClassifiedRetryLimit {
		t.Errorf("attempt %d", h.Attempt())
	}
}

func drawPolicies(t *rapid.T) retry.Policies {
	p := retry.Policies{Default: retry.DefaultPolicy(), UsePendingFailed: rapid.Bool().Draw(t, "hold")}
	if rapid.Bool().Draw(t, "handler") {
		p.Handler = &FailureHandlerDefinition{Name: "h", Rules: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) FailureRule {
			return FailureRule{
				ExitCodes:         rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 3).Draw(t, "codes"),
				MatchAllExitCodes: rapid.Bool().Draw(t, "all"),
				RecoveryScript:    rapid.SampledFrom([]string{"", "./fix"}).Draw(t, "script"),
				MaxRetries:        rapid.Int64Range(-1, 4).Draw(t, "max"),
			}
		}), 0, 4).Draw(t, "rules")}
	}
	p.Site, p.Job, p.Workflow = drawRetryPolicies(t, "site"), drawRetryPolicies(t, "job"), drawRetryPolicies(t, "workflow")
	p.GlobalMaxRetries = drawLimit(t, "global", 8)
	return p
}

func drawCause(t *rapid.T) Cause {
	c := cause(rapid.SampledFrom(CauseKinds()).Draw(t, "cause"))
	if c.Kind != CauseOK {
		c.ReturnCode = rapid.Int64Range(1, 5).Draw(t, "code")
	}
	c.ByDrain = c.Kind == CauseWalltime && rapid.Bool().Draw(t, "drain")
	c.OfCommand = c.Kind == CauseLaunch && rapid.Bool().Draw(t, "of_command")
	return c
}

// Over any history of failures: no budget is exceeded, what was not the job's
// fault uses no counted budget, and the same facts give the same decision.
func TestBudgetsAreNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicies(t)
		h := History{AttemptID: 1}
		for range rapid.IntRange(1, 80).Draw(t, "attempts") {
			c := drawCause(t)
			d := decide(p, h, Failure{Cause: c})
			if diff := cmp.Diff(d, decide(p, h, Failure{Cause: c})); diff != "" {
				t.Fatalf("not the same again:\n%s", diff)
			}
			if d.Reason == "" {
				t.Fatal("no reason")
			}
			builtIn := strings.HasPrefix(d.Rule, "default/") || d.Rule == RuleNeverStarted
			uncounted := c.Kind == CausePreempted || c.Kind == CauseNeverStarted || c.ByDrain
			if d.Counted && (builtIn && uncounted || !d.Retries()) {
				t.Fatalf("%s is counted: %+v", c.Kind, d)
			}
			if builtIn && d.Retries() && !uncounted && !d.Counted {
				t.Fatalf("%s is retried for free: %+v", c.Kind, d)
			}
			h = h.After(d)
		}
		checkBudgets(t, p, h)
	})
}

func checkBudgets(t *rapid.T, p retry.Policies, h History) {
	var counted int64
	for id, n := range h.Rules {
		limit, known := retry.RuleLimit(&p, id)
		if !known {
			t.Fatalf("no rule %s", id)
		}
		if n.Counted > limit.Counted || n.Free > limit.Free {
			t.Fatalf("rule %s granted %+v of %+v", id, n, limit)
		}
		counted += n.Counted
	}
	if h.CountedFails != counted {
		t.Fatalf("%d retries count, the rules granted %d", h.CountedFails, counted)
	}
	most := int64(retry.DefaultGlobalMaxRetries)
	if p.GlobalMaxRetries != nil {
		most = *p.GlobalMaxRetries
	}
	if counted > most && (p.GlobalMaxRetries != nil || p.Handler == nil) {
		t.Fatalf("%d retries of at most %d", counted, most)
	}
	if p.GlobalMaxRetries != nil && *p.GlobalMaxRetries == 0 && len(h.Rules) > 0 {
		t.Fatalf("retries in spite of the kill switch: %v", h.Rules)
	}
}

// The guard of torc: a rule with max_retries N allows N attempts, all else
// being equal.
func TestHandlerAllowsSoManyAttempts(t *testing.T) {
	for limit := int64(1); limit <= 5; limit++ {
		p := retry.Policies{Default: retry.DefaultPolicy(), Handler: &FailureHandlerDefinition{Rules: []FailureRule{{MatchAllExitCodes: true, MaxRetries: limit}}}}
		h, attempts := History{AttemptID: 1}, int64(1)
		for {
			d := decide(p, h, Failure{Cause: exit(3)})
			if !d.Retries() {
				break
			}
			h = h.After(d)
			attempts++
		}
		if attempts != limit || h.AttemptID != limit {
			t.Errorf("max_retries %d: %d attempts, last id %d", limit, attempts, h.AttemptID)
		}
	}
}

func TestFailureHandlerRules(t *testing.T) {
	h := FailureHandler{Name: "h", Rules: `[{"exit_codes":[10,11],"recovery_script":"./fix.sh"},{"match_all_exit_codes":true,"max_retries":5}]`}
	got, err := h.Definition()
	if err != nil {
		t.Fatal(err)
	}
	want := &FailureHandlerDefinition{Name: "h", Rules: []FailureRule{
		{ExitCodes: []int64{10, 11}, RecoveryScript: "./fix.sh", MaxRetries: DefaultHandlerRetries},
		{MatchAllExitCodes: true, MaxRetries: 5},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "{}", `[{"exit_codes":"ten"}]`} {
		if _, err := (&FailureHandler{Rules: bad}).Definition(); CodeOf(err) != CodeInvalid {
			t.Errorf("rules %q: %v", bad, err)
		}
	}
}
