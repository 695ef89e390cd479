package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) retryPolicyRoutes() []route {
	return []route{
		handle("POST", "/retry_policies", "Store a retry policy under its name", s.createRetryPolicy, conflict409),
		handle("GET", "/retry_policies", "List the stored retry policies, by name", s.listRetryPolicies),
		handle("GET", "/retry_policies/{name}", "Get a stored retry policy", s.getRetryPolicy),
		handle("PUT", "/retry_policies/{name}", "Replace what a stored retry policy says, from the next decision on", s.updateRetryPolicy),
		handle("DELETE", "/retry_policies/{name}", "Delete a stored retry policy that nothing refers to", s.deleteRetryPolicy, conflict409),
		handle("GET", "/retry_policies/{name}/history", "List who changed a retry policy, oldest first", s.listRetryPolicyChanges),
		handle("GET", "/retry_queues", "List the queues with retry policies of the site", s.listQueuePolicies),
		handle("PUT", "/retry_queues", "Attach stored retry policies to a queue, instead of those that are attached", s.setQueuePolicies),
		handle("POST", "/retry_queues/attach", "Attach stored retry policies to a queue, behind those that are attached", s.attachPolicies),
		handle("POST", "/retry_queues/detach", "Take retry policies from a queue", s.detachPolicies),
		handle("GET", "/retry_settings", "Get what holds for the retries of all workflows", s.getRetrySettings),
		handle("PUT", "/retry_settings", "Replace what holds for the retries of all workflows, from the next decision on", s.setRetrySettings),
		handle("GET", "/retry_settings/history", "List who changed what holds for the retries of all workflows, oldest first", s.listRetrySettingsChanges),
	}
}

type policyParams struct {
	Name string `path:"name"`
}

func fromStoredPolicy(p workflow.StoredPolicy) api.StoredPolicy {
	return api.StoredPolicy{Policy: p.RetryPolicy, Hash: p.Hash, Version: p.Version, CreatedMS: p.CreatedMS, UpdatedMS: p.UpdatedMS}
}

func (s *Server) createRetryPolicy(r *request[none, workflow.RetryPolicy]) (api.StoredPolicy, error) {
	p, err := s.Store.CreateRetryPolicy(r.Context(), r.Body, r.user())
	return fromStoredPolicy(p), err
}

func (s *Server) listRetryPolicies(r *request[windowParams, none]) (api.Page[api.StoredPolicy], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.StoredPolicy]{}, err
	}
	items, total, err := s.Store.RetryPolicies(r.Context(), page)
	return pageOf(page, items, total, fromStoredPolicy), err
}

func (s *Server) getRetryPolicy(r *request[policyParams, none]) (api.StoredPolicy, error) {
	p, err := s.Store.RetryPolicy(r.Context(), r.Params.Name)
	return fromStoredPolicy(p), err
}

func (s *Server) updateRetryPolicy(r *request[policyParams, workflow.RetryPolicy]) (api.StoredPolicy, error) {
	if r.Body.Name != r.Params.Name {
		return api.StoredPolicy{}, workflow.Errorf(workflow.CodeInvalid, "the policy is called %q, not %q: a policy keeps its name", r.Body.Name, r.Params.Name)
	}
	p, err := s.Store.UpdateRetryPolicy(r.Context(), r.Body, r.user())
	return fromStoredPolicy(p), err
}

func (s *Server) deleteRetryPolicy(r *request[policyParams, none]) (api.StoredPolicy, error) {
	p, err := s.Store.DeleteRetryPolicy(r.Context(), r.Params.Name, r.user())
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

func (s *Server) listRetryPolicyChanges(r *request[policyListParams, none]) (api.Page[api.PolicyChange], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.PolicyChange]{}, err
	}
	items, total, err := s.Store.RetryPolicyChanges(r.Context(), r.Params.Name, page)
	return pageOf(page, items, total, fromPolicyChange), err
}

func (s *Server) listRetrySettingsChanges(r *request[windowParams, none]) (api.Page[api.PolicyChange], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.PolicyChange]{}, err
	}
	items, total, err := s.Store.RetryPolicyChanges(r.Context(), "", page)
	return pageOf(page, items, total, fromPolicyChange), err
}

func (s *Server) listQueuePolicies(r *request[none, none]) (api.QueuePolicyList, error) {
	queues, err := s.Store.QueuePolicies(r.Context())
	if queues == nil {
		queues = []workflow.QueuePolicies{}
	}
	return api.QueuePolicyList{Queues: queues}, err
}

func (s *Server) setQueuePolicies(r *request[none, workflow.QueuePolicies]) (workflow.QueuePolicies, error) {
	return r.Body, s.Store.SetQueuePolicies(r.Context(), r.Body, r.user())
}

func (s *Server) attachPolicies(r *request[none, workflow.QueuePolicies]) (workflow.QueuePolicies, error) {
	return s.Store.AttachPolicies(r.Context(), r.Body, r.user())
}

func (s *Server) detachPolicies(r *request[none, workflow.QueuePolicies]) (workflow.QueuePolicies, error) {
	return s.Store.DetachPolicies(r.Context(), r.Body, r.user())
}

func (s *Server) getRetrySettings(r *request[none, none]) (workflow.RetrySettings, error) {
	return s.Store.RetrySettings(r.Context())
}

func (s *Server) setRetrySettings(r *request[none, workflow.RetrySettings]) (workflow.RetrySettings, error) {
	return r.Body, s.Store.SetRetrySettings(r.Context(), r.Body, r.user())
}
