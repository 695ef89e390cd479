package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) retrySimulationRoutes() []route {
	return []route{
		handle("POST", "/retry_simulations", "Say what retry policies would have done to recorded attempts; nothing is changed", s.simulateRetries),
	}
}

func (s *Server) simulateRetries(r *request[none, api.RetrySimulationRequest]) (workflow.RetrySimulation, error) {
	b := r.Body
	switch {
	case len(b.Policies) == 0:
		return workflow.RetrySimulation{}, workflow.Errorf(workflow.CodeInvalid, "policies: say at least one")
	case (b.WorkflowID == nil) == (b.SinceMS == nil):
		return workflow.RetrySimulation{}, workflow.Errorf(workflow.CodeInvalid, "say either workflow_id or since_ms")
	case b.WorkflowID != nil:
		if *b.WorkflowID <= 0 {
			return workflow.RetrySimulation{}, workflow.Errorf(workflow.CodeInvalid, "workflow_id: %d is not positive", *b.WorkflowID)
		}
		return s.Store.SimulateRetries(r.Context(), b.Policies, *b.WorkflowID, 0)
	}
	return s.Store.SimulateRetries(r.Context(), b.Policies, 0, *b.SinceMS)
}
