package workflow_test

import (
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestRetrySettingsAreChecked(t *testing.T) {
	good := RetrySettings{GlobalMaxRetries: ptr(int64(0)), DefaultPolicy: "site", DefaultBackoff: &Backoff{Initial: "5s"}, NodeBreaker: &NodeBreaker{Threshold: 3}}
	checkProblems(t, "good", good.Validate())
	bad := RetrySettings{GlobalMaxRetries: ptr(int64(-1)), DefaultPolicy: "a b", DefaultBackoff: &Backoff{Initial: "x"}}
	checkProblems(t, "bad", bad.Validate(), "global_max_retries: invalid number of retries: -1", `default_policy: invalid name "a b" of a policy`,
		`default_backoff.initial: duration "x": not a number with a unit`)
}

func TestQueueIsChecked(t *testing.T) {
	for _, kind := range []QueueKind{QueueAccount, QueuePartition, QueueScheduler} {
		checkProblems(t, string(kind), Queue{Kind: kind, Name: "x"}.Validate())
	}
	checkProblems(t, "bad", Queue{Kind: "qos"}.Validate(), `kind: invalid value "qos" of kind`, "name: the name is missing")
}

// TestPolicyHash: two policies have one hash if they say the same, whatever
// pointers they say it by.
func TestPolicyHash(t *testing.T) {
	policy := func(limit int64) *RetryPolicy {
		return &RetryPolicy{Name: "p", RetryLimit: &limit, Rules: []RetryRule{{ID: "a", Action: ActionRetry}}}
	}
	a := policy(3)
	if a.Hash() != policy(3).Hash() || len(a.Hash()) != 16 {
		t.Errorf("%s and %s", a.Hash(), policy(3).Hash())
	}
	rule := policy(3)
	rule.Rules[0].Action = ActionFail
	name := policy(3)
	name.Name = "q"
	for what, other := range map[string]*RetryPolicy{"limit": policy(4), "rule": rule, "name": name} {
		if a.Hash() == other.Hash() {
			t.Errorf("another %s, the same hash", what)
		}
	}
}
