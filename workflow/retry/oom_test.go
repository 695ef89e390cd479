package retry

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// The first policy that says something about kills in doubt decides: the site's, the
// job's, the workflow's, the server's.
func TestWhichPolicySaysWhatAKillInDoubtDoes(t *testing.T) {
	says := func(o workflow.OOMPartial) workflow.RetryPolicy {
		return workflow.RetryPolicy{Name: "p", OOMPartial: o}
	}
	for _, c := range []struct {
		name string
		p    Policies
		want workflow.OOMPartial
	}{
		{"nobody", Policies{Default: DefaultPolicy()}, workflow.OOMFailLikely},
		{"the server", Policies{Default: says(workflow.OOMIgnore)}, workflow.OOMIgnore},
		{"the workflow", Policies{Workflow: []workflow.RetryPolicy{says(""), says(workflow.OOMFailAll)}, Default: says(workflow.OOMIgnore)}, workflow.OOMFailAll},
		{"the job", Policies{Job: []workflow.RetryPolicy{says(workflow.OOMIgnore)}, Workflow: []workflow.RetryPolicy{says(workflow.OOMFailAll)}}, workflow.OOMIgnore},
		{"the site", Policies{Site: []workflow.RetryPolicy{says(workflow.OOMFailAll)}, Job: []workflow.RetryPolicy{says(workflow.OOMIgnore)}}, workflow.OOMFailAll},
	} {
		if got := c.p.OOMPartial(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A policy may say this alone.
func TestPolicyAboutKillsInDoubtAlone(t *testing.T) {
	p := workflow.RetryPolicy{Name: "tolerant", OOMPartial: workflow.OOMIgnore}
	if problems := p.Validate(); len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
}
