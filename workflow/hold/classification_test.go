package hold

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestClassificationValidate(t *testing.T) {
	for _, tt := range []struct {
		c    Classification
		says string
	}{
		{Classification{Status: workflow.Failed, Reason: "bad input"}, ""},
		{Classification{Status: workflow.Ready, Reason: "again", Memory: "2048m", Runtime: "90m"}, ""},
		{Classification{Status: workflow.Ready, Reason: " "}, "needs a reason"},
		{Classification{Status: workflow.Completed, Reason: "x"}, "ready or failed"},
		{Classification{Status: workflow.Failed, Reason: "x", Memory: "1g"}, "memory, runtime and num_cpus can only be changed"},
		{Classification{Status: workflow.Ready, Reason: "x", Memory: "lots"}, "memory"},
		{Classification{Status: workflow.Ready, Reason: "x", Memory: "0g"}, "must be more than 0"},
		{Classification{Status: workflow.Ready, Reason: "x", Runtime: "soon"}, "soon"},
		{Classification{Status: workflow.Ready, Reason: "x", Runtime: "PT0S"}, "PT0S"},
	} {
		err := tt.c.Validate()
		if tt.says == "" && err != nil || tt.says != "" && (workflow.CodeOf(err) != workflow.CodeInvalid || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.says)
		}
	}
}

func TestClassificationApply(t *testing.T) {
	c := Classification{Status: workflow.Ready, Reason: "x", Memory: "2048m", Runtime: "90m"}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	q, said, err := c.Apply(workflow.ResourceRequirements{Name: "big", Memory: "1g", Runtime: "PT1H"})
	if err != nil || q.Memory != "2g" || q.Runtime != "PT1H30M" || said != "memory 1g -> 2g, runtime PT1H -> PT1H30M" {
		t.Errorf("%+v, %q, %v", q, said, err)
	}
	if _, said, err := c.Apply(q); err != nil || said != "" {
		t.Errorf("the same again: %q, %v", said, err)
	}
	if _, _, err := c.Apply(workflow.ResourceRequirements{Name: workflow.DefaultRequirements}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("no request: %v", err)
	}
}
