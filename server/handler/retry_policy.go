package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// retryPolicies handles requests about retry policies and settings.
type retryPolicies struct{ *Deps }

func (h retryPolicies) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/retry_policies", "Store a retry policy under its name", h.createRetryPolicy, rest.Conflict409),
		rest.Handle("GET", "/retry_policies", "List the stored retry policies, by name", List(h.listRetryPolicies, fromStoredPolicy)),
		rest.Handle("GET", "/retry_policies/{name}", "Get a stored retry policy", h.getRetryPolicy),
		rest.Handle("PUT", "/retry_policies/{name}", "Replace the content of a stored retry policy; it applies from the next decision on", h.updateRetryPolicy),
		rest.Handle("DELETE", "/retry_policies/{name}", "Delete a stored retry policy that nothing refers to", h.deleteRetryPolicy, rest.Conflict409),
		rest.Handle("GET", "/retry_policies/{name}/history", "List the changes of a retry policy, oldest first", List(h.listRetryPolicyChanges, fromPolicyChange)),
		rest.Handle("GET", "/retry_queues", "List the queues with retry policies of the site", h.listQueuePolicies),
		rest.Handle("PUT", "/retry_queues", "Replace the retry policies that are attached to a queue", h.setQueuePolicies),
		rest.Handle("POST", "/retry_queues/attach", "Attach stored retry policies to a queue, after those already attached", h.attachPolicies),
		rest.Handle("POST", "/retry_queues/detach", "Detach retry policies from a queue", h.detachPolicies),
		rest.Handle("GET", "/retry_settings", "Get the retry settings of all workflows", h.getRetrySettings),
		rest.Handle("PUT", "/retry_settings", "Replace the retry settings of all workflows; they apply from the next decision on", h.setRetrySettings),
		rest.Handle("GET", "/retry_settings/history", "List the changes of the retry settings, oldest first", List(h.listRetrySettingsChanges, fromPolicyChange)),
	}
}

type policyParams struct {
	Name string `path:"name"`
}

func fromStoredPolicy(p workflow.StoredPolicy) api.StoredPolicy {
	return api.StoredPolicy{Policy: p.RetryPolicy, Hash: p.Hash, Version: p.Version, CreatedMS: p.CreatedMS, UpdatedMS: p.UpdatedMS}
}

func (h retryPolicies) createRetryPolicy(r *rest.Request[rest.None, workflow.RetryPolicy]) (api.StoredPolicy, error) {
	p, err := h.Store.Policies.Create(r.Context(), r.Body, r.User())
	return fromStoredPolicy(p), err
}

func (h retryPolicies) listRetryPolicies(r *rest.Request[windowParams, rest.None], page store.Page) ([]workflow.StoredPolicy, int64, error) {
	return h.Store.Policies.List(r.Context(), page)
}

func (h retryPolicies) getRetryPolicy(r *rest.Request[policyParams, rest.None]) (api.StoredPolicy, error) {
	p, err := h.Store.Policies.Get(r.Context(), r.Params.Name)
	return fromStoredPolicy(p), err
}

func (h retryPolicies) updateRetryPolicy(r *rest.Request[policyParams, workflow.RetryPolicy]) (api.StoredPolicy, error) {
	if r.Body.Name != r.Params.Name {
		return api.StoredPolicy{}, workflow.Errorf(workflow.CodeInvalid, "the policy is called %q, not %q: a policy keeps its name", r.Body.Name, r.Params.Name)
	}
	p, err := h.Store.Policies.Update(r.Context(), r.Body, r.User())
	return fromStoredPolicy(p), err
}

func (h retryPolicies) deleteRetryPolicy(r *rest.Request[policyParams, rest.None]) (api.StoredPolicy, error) {
	p, err := h.Store.Policies.Delete(r.Context(), r.Params.Name, r.User())
	return fromStoredPolicy(p), err
}

func fromPolicyChange(c workflow.PolicyChange) api.PolicyChange {
	return api.PolicyChange{
		ID: c.ID, Policy: c.Policy, Action: string(c.Action), AtMS: c.AtMS, Author: c.Author, Detail: c.Detail,
		OldHash: c.OldHash, NewHash: c.NewHash, Version: c.Version, Text: c.Text,
	}
}

type policyListParams struct {
	policyParams
	windowParams
}

func (h retryPolicies) listRetryPolicyChanges(r *rest.Request[policyListParams, rest.None], page store.Page) ([]workflow.PolicyChange, int64, error) {
	return h.Store.Policies.Changes(r.Context(), r.Params.Name, page)
}

func (h retryPolicies) listRetrySettingsChanges(r *rest.Request[windowParams, rest.None], page store.Page) ([]workflow.PolicyChange, int64, error) {
	return h.Store.Policies.Changes(r.Context(), "", page)
}

func (h retryPolicies) listQueuePolicies(r *rest.Request[rest.None, rest.None]) (api.QueuePolicyList, error) {
	queues, err := h.Store.Policies.Queues(r.Context())
	if queues == nil {
		queues = []workflow.QueuePolicies{}
	}
	return api.QueuePolicyList{Queues: queues}, err
}

func (h retryPolicies) setQueuePolicies(r *rest.Request[rest.None, workflow.QueuePolicies]) (workflow.QueuePolicies, error) {
	return r.Body, h.Store.Policies.SetQueue(r.Context(), r.Body, r.User())
}

func (h retryPolicies) attachPolicies(r *rest.Request[rest.None, workflow.QueuePolicies]) (workflow.QueuePolicies, error) {
	return h.Store.Policies.Attach(r.Context(), r.Body, r.User())
}

func (h retryPolicies) detachPolicies(r *rest.Request[rest.None, workflow.QueuePolicies]) (workflow.QueuePolicies, error) {
	return h.Store.Policies.Detach(r.Context(), r.Body, r.User())
}

func (h retryPolicies) getRetrySettings(r *rest.Request[rest.None, rest.None]) (workflow.RetrySettings, error) {
	return h.Store.Policies.Settings(r.Context())
}

func (h retryPolicies) setRetrySettings(r *rest.Request[rest.None, workflow.RetrySettings]) (workflow.RetrySettings, error) {
	return r.Body, h.Store.Policies.SetSettings(r.Context(), r.Body, r.User())
}
