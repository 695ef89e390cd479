package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// TestRetrySettingsApply: what the server says bounds what workflows and jobs say,
// and never grants them more.
func TestRetrySettingsApply(t *testing.T) {
	own := []RetryPolicy{{Name: "own"}}
	site := []RetryPolicy{{Name: "site"}}
	backoff := &Backoff{Initial: "5s"}
	handler := &FailureHandlerDefinition{Name: "h"}
	replaced := &RetryPolicy{Name: "replaced"}
	n := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		name     string
		s        RetrySettings
		limit    *int64 // of the workflow
		replaced *RetryPolicy
		want     retry.Policies
	}{
		{"nothing said", RetrySettings{}, n(5), nil,
			retry.Policies{Site: site, Handler: handler, Job: own, Workflow: own, Default: retry.DefaultPolicy(), GlobalMaxRetries: n(5)}},
		{"less than the workflow says", RetrySettings{GlobalMaxRetries: n(3)}, n(5), nil,
			retry.Policies{Site: site, Handler: handler, Job: own, Workflow: own, Default: retry.DefaultPolicy(), GlobalMaxRetries: n(3)}},
		{"more than the workflow says", RetrySettings{GlobalMaxRetries: n(9)}, n(5), nil,
			retry.Policies{Site: site, Handler: handler, Job: own, Workflow: own, Default: retry.DefaultPolicy(), GlobalMaxRetries: n(5)}},
		{"the workflow says nothing", RetrySettings{GlobalMaxRetries: n(0)}, nil, nil,
			retry.Policies{Site: site, Handler: handler, Job: own, Workflow: own, Default: retry.DefaultPolicy(), GlobalMaxRetries: n(0)}},
		{"a default of its own", RetrySettings{Enabled: ptr(true), DefaultBackoff: backoff}, nil, replaced,
			retry.Policies{Site: site, Handler: handler, Job: own, Workflow: own, Default: *replaced, DefaultBackoff: backoff}},
		{"off: handlers and the built-in policy are left", RetrySettings{Enabled: ptr(false), DefaultBackoff: backoff, GlobalMaxRetries: n(3)}, nil, replaced,
			retry.Policies{Handler: handler, Default: retry.DefaultPolicy(), GlobalMaxRetries: n(3), SwitchedOff: true}},
	} {
		p := retry.Policies{Handler: handler, Job: own, Workflow: own, GlobalMaxRetries: tc.limit}
		retry.ApplySettings(&tc.s, &p, site, tc.replaced)
		if diff := cmp.Diff(tc.want, p); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
}

func TestRetrySettingsAreChecked(t *testing.T) {
	good := RetrySettings{GlobalMaxRetries: ptr(int64(0)), DefaultPolicy: "site", DefaultBackoff: &Backoff{Initial: "5s"}, NodeBreaker: &NodeBreaker{Threshold: 3}}
	checkProblems(t, "good", good.Validate())
	bad := RetrySettings{GlobalMaxRetries: ptr(int64(-1)), DefaultPolicy: "a b", DefaultBackoff: &Backoff{Initial: "x"}}
	checkProblems(t, "bad", bad.Validate(), "global_max_retries: -1 retries cannot be granted", `default_policy: "a b" is no name for a policy`,
		`default_backoff.initial: duration "x": not a number with a unit`)
}

func TestQueueIsChecked(t *testing.T) {
	for _, kind := range []QueueKind{QueueAccount, QueuePartition, QueueScheduler} {
		checkProblems(t, string(kind), Queue{Kind: kind, Name: "x"}.Validate())
	}
	checkProblems(t, "bad", Queue{Kind: "qos"}.Validate(), `kind: "qos" is not a value for kind`, "name: a queue has a name")
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
