package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Names of hosts and categories come from runners, and have no control characters
// either.
func TestNamesOfRunners(t *testing.T) {
	r := newRig(t, rigJob{})
	for name, host := range map[string]string{"escape": "n1\x1b[2J", "new line": "n1\nn2", "long": strings.Repeat("n", workflow.MaxName+1)} {
		_, err := r.RegisterRunner(r.ctx, Registration{WorkflowID: r.workflow, Key: "k", Hostname: host, NumNodes: 1})
		if workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: a runner registers: %v", name, err)
		}
		if _, err := r.CreateComputeNode(r.ctx, workflow.ComputeNode{WorkflowID: r.workflow, Hostname: host}); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: a compute node is made: %v", name, err)
		}
	}
	h := r.hand("n1", 4)
	h.turn()
	report := exited(h.held[0].LeaseRef, 3)
	report.Evidence.Category = "gpu\x1b]0;owned\x07"
	if answer := h.turn(report); answer.Results[0].Outcome != Accepted || answer.Results[0].Category != "" {
		t.Errorf("%+v", answer.Results[0])
	}
}
