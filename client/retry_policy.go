package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// Create stores a retry policy under its name.
func (c RetryPolicies) Create(ctx context.Context, p *workflow.RetryPolicy) (*api.StoredPolicy, error) {
	return call[api.StoredPolicy](ctx, c, http.MethodPost, "/retry_policies", p)
}

// Update replaces a stored retry policy.
func (c RetryPolicies) Update(ctx context.Context, p *workflow.RetryPolicy) (*api.StoredPolicy, error) {
	return call[api.StoredPolicy](ctx, c, http.MethodPut, "/retry_policies/"+url.PathEscape(p.Name), p)
}

// List lists the stored retry policies.
func (c RetryPolicies) List(ctx context.Context, page Page) iter.Seq2[api.StoredPolicy, error] {
	return pages[api.StoredPolicy](ctx, c, "/retry_policies", page, nil)
}

// Get returns a stored retry policy.
func (c RetryPolicies) Get(ctx context.Context, name string) (*api.StoredPolicy, error) {
	return get[api.StoredPolicy](ctx, c, "/retry_policies/%s", url.PathEscape(name))
}

// Delete removes a stored retry policy.
func (c RetryPolicies) Delete(ctx context.Context, name string) (*api.StoredPolicy, error) {
	return call[api.StoredPolicy](ctx, c, http.MethodDelete, "/retry_policies/"+url.PathEscape(name), nil)
}

// Changes lists the changes of a stored retry policy, oldest first.
func (c RetryPolicies) Changes(ctx context.Context, name string) iter.Seq2[api.PolicyChange, error] {
	return pages[api.PolicyChange](ctx, c, "/retry_policies/"+url.PathEscape(name)+"/history", Page{}, nil)
}

// Queues lists the queues that have retry policies attached.
func (c RetryPolicies) Queues(ctx context.Context) ([]workflow.QueuePolicies, error) {
	all, err := get[api.QueuePolicyList](ctx, c, "/retry_queues")
	if err != nil {
		return nil, err
	}
	return all.Queues, nil
}

// Attach adds stored retry policies to a queue and returns all of the queue's.
func (c RetryPolicies) Attach(ctx context.Context, q workflow.QueuePolicies) (*workflow.QueuePolicies, error) {
	return call[workflow.QueuePolicies](repeatable(ctx), c, http.MethodPost, "/retry_queues/attach", q)
}

// Detach removes retry policies from a queue and returns the remaining ones.
func (c RetryPolicies) Detach(ctx context.Context, q workflow.QueuePolicies) (*workflow.QueuePolicies, error) {
	return call[workflow.QueuePolicies](ctx, c, http.MethodPost, "/retry_queues/detach", q)
}

// Settings returns the retry settings of all workflows.
func (c RetryPolicies) Settings(ctx context.Context) (*workflow.RetrySettings, error) {
	return get[workflow.RetrySettings](ctx, c, "/retry_settings")
}

// SetSettings replaces the retry settings of all workflows.
func (c RetryPolicies) SetSettings(ctx context.Context, s *workflow.RetrySettings) error {
	_, err := call[workflow.RetrySettings](ctx, c, http.MethodPut, "/retry_settings", s)
	return err
}

// SettingsChanges lists the changes of the retry settings, oldest first.
func (c RetryPolicies) SettingsChanges(ctx context.Context) iter.Seq2[api.PolicyChange, error] {
	return pages[api.PolicyChange](ctx, c, "/retry_settings/history", Page{}, nil)
}

// Simulate returns how retry policies would have decided about recorded attempts.
func (c RetryPolicies) Simulate(ctx context.Context, r api.RetrySimulationRequest) (*retry.RetrySimulation, error) {
	return call[retry.RetrySimulation](ctx, c, http.MethodPost, "/retry_simulations", r)
}
