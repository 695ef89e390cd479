package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// CreateRetryPolicy stores a retry policy under its name.
func (c *Client) CreateRetryPolicy(ctx context.Context, p *workflow.RetryPolicy) (*api.StoredPolicy, error) {
	return call[api.StoredPolicy](ctx, c, http.MethodPost, "/retry_policies", p)
}

// UpdateRetryPolicy replaces what a stored retry policy says.
func (c *Client) UpdateRetryPolicy(ctx context.Context, p *workflow.RetryPolicy) (*api.StoredPolicy, error) {
	return call[api.StoredPolicy](ctx, c, http.MethodPut, "/retry_policies/"+url.PathEscape(p.Name), p)
}

// RetryPolicies lists the stored retry policies.
func (c *Client) RetryPolicies(ctx context.Context, page Page) iter.Seq2[api.StoredPolicy, error] {
	return pages[api.StoredPolicy](ctx, c, "/retry_policies", page, nil)
}

// RetryPolicy returns a stored retry policy.
func (c *Client) RetryPolicy(ctx context.Context, name string) (*api.StoredPolicy, error) {
	return get[api.StoredPolicy](ctx, c, "/retry_policies/%s", url.PathEscape(name))
}

// DeleteRetryPolicy removes a stored retry policy.
func (c *Client) DeleteRetryPolicy(ctx context.Context, name string) (*api.StoredPolicy, error) {
	return call[api.StoredPolicy](ctx, c, http.MethodDelete, "/retry_policies/"+url.PathEscape(name), nil)
}

// RetryPolicyChanges lists who changed a stored retry policy, oldest first.
func (c *Client) RetryPolicyChanges(ctx context.Context, name string) iter.Seq2[api.PolicyChange, error] {
	return pages[api.PolicyChange](ctx, c, "/retry_policies/"+url.PathEscape(name)+"/history", Page{}, nil)
}

// QueuePolicies lists the queues that have retry policies of the site.
func (c *Client) QueuePolicies(ctx context.Context) ([]workflow.QueuePolicies, error) {
	all, err := get[api.QueuePolicyList](ctx, c, "/retry_queues")
	if err != nil {
		return nil, err
	}
	return all.Queues, nil
}

// AttachPolicies adds stored retry policies to those of a queue and returns all.
func (c *Client) AttachPolicies(ctx context.Context, q workflow.QueuePolicies) (*workflow.QueuePolicies, error) {
	return call[workflow.QueuePolicies](repeatable(ctx), c, http.MethodPost, "/retry_queues/attach", q)
}

// DetachPolicies takes retry policies from a queue and returns those that are
// left.
func (c *Client) DetachPolicies(ctx context.Context, q workflow.QueuePolicies) (*workflow.QueuePolicies, error) {
	return call[workflow.QueuePolicies](ctx, c, http.MethodPost, "/retry_queues/detach", q)
}

// RetrySettings returns what holds for the retries of all workflows.
func (c *Client) RetrySettings(ctx context.Context) (*workflow.RetrySettings, error) {
	return get[workflow.RetrySettings](ctx, c, "/retry_settings")
}

// SetRetrySettings replaces what holds for the retries of all workflows.
func (c *Client) SetRetrySettings(ctx context.Context, s *workflow.RetrySettings) error {
	_, err := call[workflow.RetrySettings](ctx, c, http.MethodPut, "/retry_settings", s)
	return err
}

// RetrySettingsChanges lists who changed them, oldest first.
func (c *Client) RetrySettingsChanges(ctx context.Context) iter.Seq2[api.PolicyChange, error] {
	return pages[api.PolicyChange](ctx, c, "/retry_settings/history", Page{}, nil)
}

// SimulateRetries says what retry policies would have done to recorded attempts.
func (c *Client) SimulateRetries(ctx context.Context, r api.RetrySimulationRequest) (*workflow.RetrySimulation, error) {
	return call[workflow.RetrySimulation](ctx, c, http.MethodPost, "/retry_simulations", r)
}
