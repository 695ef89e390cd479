package workflow

import "testing"

// The first policy that says something about kills in doubt decides: the site's, the
// job's, the workflow's, the server's.
func TestWhichPolicySaysWhatAKillInDoubtDoes(t *testing.T) {
	says := func(o OOMPartial) RetryPolicy { return RetryPolicy{Name: "p", OOMPartial: o} }
	for _, c := range []struct {
		name string
		p    Policies
		want OOMPartial
	}{
		{"nobody", Policies{Default: DefaultPolicy()}, OOMFailLikely},
		{"the server", Policies{Default: says(OOMIgnore)}, OOMIgnore},
		{"the workflow", Policies{Workflow: []RetryPolicy{says(""), says(OOMFailAll)}, Default: says(OOMIgnore)}, OOMFailAll},
		{"the job", Policies{Job: []RetryPolicy{says(OOMIgnore)}, Workflow: []RetryPolicy{says(OOMFailAll)}}, OOMIgnore},
		{"the site", Policies{Site: []RetryPolicy{says(OOMFailAll)}, Job: []RetryPolicy{says(OOMIgnore)}}, OOMFailAll},
	} {
		if got := c.p.OOMPartial(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A policy may say this alone.
func TestPolicyAboutKillsInDoubtAlone(t *testing.T) {
	p := RetryPolicy{Name: "tolerant", OOMPartial: OOMIgnore}
	if problems := p.Validate(); len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
}
