package retry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// The first rule about recovery scripts decides, and none about the job does.
func TestDecideRecovery(t *testing.T) {
	about := readPolicy(t, `{"name": "scripts", "default_action": "fail", "retry_limit": 1, "backoff": {"kind": "fixed", "initial": "30s"}, "rules": [
		{"id": "job", "when": {}, "action": "fail"},
		{"id": "full", "when": {"component": "recovery", "stderr": "No space left"}, "action": "hold"},
		{"id": "slow", "when": {"component": "recovery", "cause": ["timeout"]}, "action": "retry", "max_free": 2, "avoid_nodes": {"mode": "last"}},
		{"id": "bad", "when": {"component": "recovery", "exit_code": {"in": [2]}}, "action": "fail"}]}`)
	handler := &FailureHandlerDefinition{Name: "h", Rules: []FailureRule{{MatchAllExitCodes: true, MaxRetries: 9}}}
	slow := Failure{Cause: Cause{Kind: CauseTimeout, Status: Terminated, ReturnCode: 152}}
	zero := int64(0)
	for name, c := range map[string]struct {
		p       retry.Policies
		h       History
		f       Failure
		onError Action
		want    Decision
	}{
		"no rule": {retry.Policies{Handler: handler}, History{}, Failure{Cause: exit(1)}, ActionFail,
			Decision{Action: ActionFail, Reason: "no rule matches, on_recovery_error is fail"}},
		"rules about the job are not asked": {retry.Policies{Job: []RetryPolicy{about}}, History{}, Failure{Cause: exit(1)}, ActionRetry,
			Decision{Action: ActionRetry, Reason: "no rule matches, on_recovery_error is retry"}},
		"fail": {retry.Policies{Job: []RetryPolicy{about}}, History{}, Failure{Cause: exit(2)}, ActionRetry,
			Decision{Action: ActionFail, Rule: "scripts/bad", Reason: "rule scripts/bad: exit of the recovery script"}},
		"hold, of the queue": {retry.Policies{Site: []RetryPolicy{about}}, History{}, Failure{Cause: exit(2), Evidence: Evidence{StderrTail: "No space left on device"}}, ActionRetry,
			Decision{Action: ActionHold, Rule: "scripts/full", Reason: "rule scripts/full: exit of the recovery script"}},
		"never held": {retry.Policies{Site: []RetryPolicy{about}, NeverHeld: true}, History{}, Failure{Cause: exit(2), Evidence: Evidence{StderrTail: "No space left on device"}}, ActionRetry,
			Decision{Action: ActionFail, Rule: "scripts/full",
				Reason: "rule scripts/full: exit of the recovery script; it is not held, because the end of the run would wait for a decision"}},
		"the retry is made, later and elsewhere, and is not counted again": {retry.Policies{Workflow: []RetryPolicy{about}},
			History{CountedFails: 20, Rules: map[string]RuleCount{"scripts/slow": {Free: 1}}}, slow, ActionFail,
			Decision{Action: ActionRetry, Rule: "scripts/slow", Delay: 30 * time.Second, Avoid: &AvoidNodes{Mode: AvoidLast},
				Reason: "rule scripts/slow: timeout of the recovery script, free retry 2 of 2"}},
		"too often": {retry.Policies{Workflow: []RetryPolicy{about}}, History{Rules: map[string]RuleCount{"scripts/slow": {Free: 2}}}, slow, ActionRetry,
			Decision{Action: ActionFail, Rule: "scripts/slow", Reason: "rule scripts/slow: timeout of the recovery script, all 2 free retries used"}},
		"the kill switch": {retry.Policies{Workflow: []RetryPolicy{about}, GlobalMaxRetries: &zero}, History{}, slow, ActionRetry,
			Decision{Action: ActionFail, Rule: "scripts/slow", Reason: "rule scripts/slow: timeout of the recovery script, global_max_retries is 0"}},
	} {
		c.p.Default = retry.DefaultPolicy()
		c.want.PolicyHash = c.p.Hash()
		if diff := cmp.Diff(c.want, decideRecovery(c.p, c.h, c.f, c.onError)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRulesAboutRecoveryScriptsThatSayNothing(t *testing.T) {
	for rule, want := range map[string]string{
		`"limit": 2`:                          "limit: the rule that granted the retry has already counted it",
		`"counted": true`:                     "counted: the rule that granted the retry has already counted it",
		`"counted": false`:                    "",
		`"max_free": 2`:                       "",
		`"mutate": {"memory": {"factor": 2}}`: "mutate: the requirements of the retry follow from the rule that granted it",
		`"recovery_script": "./again"`:        "recovery_script: a failed recovery script cannot have a recovery script",
	} {
		text := `{"name": "p", "rules": [{"when": {"component": "recovery"}, "action": "retry", ` + rule + `}]}`
		switch err := ProblemsError("policy p", parsePolicy(t, text).Validate()); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", rule, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), "rules[0]."+want+" (")):
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
}
