package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// retrySimulations handles requests about simulated retries.
type retrySimulations struct{ *Deps }

func (h retrySimulations) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/retry_simulations", "Simulate retry policies on recorded attempts; nothing is changed", h.simulateRetries),
	}
}

func (h retrySimulations) simulateRetries(r *rest.Request[rest.None, api.RetrySimulationRequest]) (retry.RetrySimulation, error) {
	b := r.Body
	switch {
	case len(b.Policies) == 0:
		return retry.RetrySimulation{}, workflow.Errorf(workflow.CodeInvalid, "policies: at least one is needed")
	case (b.WorkflowID == nil) == (b.SinceMS == nil):
		return retry.RetrySimulation{}, workflow.Errorf(workflow.CodeInvalid, "give either workflow_id or since_ms")
	case b.WorkflowID != nil:
		if *b.WorkflowID <= 0 {
			return retry.RetrySimulation{}, workflow.Errorf(workflow.CodeInvalid, "workflow_id: %d is not positive", *b.WorkflowID)
		}
		return h.Store.Policies.Simulate(r.Context(), b.Policies, *b.WorkflowID, 0)
	}
	return h.Store.Policies.Simulate(r.Context(), b.Policies, 0, *b.SinceMS)
}
