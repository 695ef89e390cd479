package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Names of hosts and categories come from runners, and cannot contain control characters
// either.
func TestNamesOfRunners(t *testing.T) {
	r := newRig(t, rigJob{})
	for name, host := range map[string]string{"escape": "n1\x1b[2J", "new line": "n1\nn2", "long": strings.Repeat("n", workflow.MaxName+1)} {
		_, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, RegisterRequest: lease.RegisterRequest{Key: "k", Hostname: host, NumNodes: 1}})
		if workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: a runner registers: %v", name, err)
		}
		if _, err := r.ComputeNodes.Create(r.ctx, compute.Node{WorkflowID: r.workflow, Hostname: host}); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: a compute node is made: %v", name, err)
		}
	}
	h := r.hand("n1", 4)
	h.turn()
	report := exited(h.held[0].LeaseRef, 3)
	report.Evidence.Category = "gpu\x1b]0;owned\x07"
	if answer := h.turn(report); answer.Results[0].Outcome != lease.Accepted || answer.Results[0].Category != "" {
		t.Errorf("%+v", answer.Results[0])
	}
}
