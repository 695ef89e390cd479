package retry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// TestApplySettings: what the server says bounds what workflows and jobs say,
// and never grants them more.
func TestApplySettings(t *testing.T) {
	own := []RetryPolicy{{Name: "own"}}
	site := []RetryPolicy{{Name: "site"}}
	backoff := &Backoff{Initial: "5s"}
	handler := &FailureHandlerDefinition{Name: "h"}
	replaced := &RetryPolicy{Name: "replaced"}
	n := func(n int64) *int64 { return &n }
	yes, no := true, false
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
		{"a default of its own", RetrySettings{Enabled: &yes, DefaultBackoff: backoff}, nil, replaced,
			retry.Policies{Site: site, Handler: handler, Job: own, Workflow: own, Default: *replaced, DefaultBackoff: backoff}},
		{"off: handlers and the built-in policy are left", RetrySettings{Enabled: &no, DefaultBackoff: backoff, GlobalMaxRetries: n(3)}, nil, replaced,
			retry.Policies{Handler: handler, Default: retry.DefaultPolicy(), GlobalMaxRetries: n(3), SwitchedOff: true}},
	} {
		p := retry.Policies{Handler: handler, Job: own, Workflow: own, GlobalMaxRetries: tc.limit}
		retry.ApplySettings(&tc.s, &p, site, tc.replaced)
		if diff := cmp.Diff(tc.want, p); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
}
