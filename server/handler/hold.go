package handler

import (
	"cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// holds handles requests about held jobs.
type holds struct{ *Deps }

func (h holds) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/holds", "List the jobs that wait for a classification, grouped by how they failed", h.listHolds),
		rest.Handle("GET", "/holds/verdicts", "List the verdicts that are remembered, also those of deleted workflows, and what became of their jobs", List(h.listVerdicts, same)),
		rest.Handle("GET", "/holds/suggested_policy", "Get a retry policy that decides as was decided before", h.suggestPolicy),
		rest.Handle("GET", "/workflows/{id}/failure_groups", "List the jobs that failed in this run, grouped by how they failed", h.failureGroups),
		rest.Handle("GET", "/workflows/{id}/classifier", "Get what agents were asked about held jobs in this run, and whether another call is due", h.classifierState),
		rest.Handle("POST", "/workflows/{id}/resolve_holds", "Classify held jobs; each is resolved or rejected by itself", h.resolveHolds, rest.Bulk),
		rest.Handle("POST", "/workflows/{id}/hold_verdicts", "Classify held jobs by a list of verdicts; each entry is applied or rejected by itself", h.resolveHoldsEach, rest.Bulk),
	}
}

// Of how many groups the earlier verdicts are listed, and how many of each.
const (
	rememberedGroups = 100
	earlierVerdicts  = 5
)

type holdListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow; of all without it"`
}

func (h holds) listHolds(r *rest.Request[holdListParams, rest.None]) (api.HoldList, error) {
	held, err := h.Store.Holds.List(r.Context(), Or(r.Params.WorkflowID, 0))
	if err != nil {
		return api.HoldList{}, err
	}
	list := api.HoldList{Groups: hold.GroupHeld(held)}
	for i := range list.Groups[:min(len(list.Groups), rememberedGroups)] {
		g := &list.Groups[i]
		if g.Earlier, g.Experience, err = h.Store.Holds.Earlier(r.Context(), g.Fingerprint, earlierVerdicts); err != nil {
			return api.HoldList{}, err
		}
	}
	return list, nil
}

type verdictListParams struct {
	WorkflowID  *int64  `query:"workflow_id" doc:"of this workflow; of all without it"`
	Fingerprint *string `query:"fingerprint" doc:"about jobs that failed in this way"`
	pageParams
}

func (h holds) listVerdicts(r *rest.Request[verdictListParams, rest.None], page store.Page) ([]hold.EarlierVerdict, int64, error) {
	return h.Store.Holds.Verdicts(r.Context(), store.VerdictFilter{WorkflowID: Or(r.Params.WorkflowID, 0), Fingerprint: Or(r.Params.Fingerprint, "")}, page)
}

type suggestionParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"from the verdicts of this workflow; from all without it"`
	MinJobs    *int64 `query:"min_jobs" doc:"so many jobs must have failed alike; 3 without it"`
}

func (h holds) suggestPolicy(r *rest.Request[suggestionParams, rest.None]) (hold.SuggestedPolicy, error) {
	return service.Holds{Store: h.Store}.SuggestPolicy(r.Context(), Or(r.Params.WorkflowID, 0), Or(r.Params.MinJobs, usualMinJobs))
}

// usualMinJobs is how many jobs must have failed alike for a rule to be suggested.
const usualMinJobs = 3

type failureGroupParams struct {
	IDParams
	Limit *int64 `query:"limit" doc:"so many of the largest groups; 10 without it, at most 1000"`
}

func (h holds) failureGroups(r *rest.Request[failureGroupParams, rest.None]) (api.FailureGroupList, error) {
	const usual, most = 10, 1000
	groups, total, jobs, err := h.Store.Workflows.FailureGroups(r.Context(), r.Params.ID, max(1, min(Or(r.Params.Limit, usual), most)))
	return api.FailureGroupList{Groups: NotNil(groups), Total: total, Jobs: jobs}, err
}

func (h holds) resolveHolds(r *rest.Request[IDParams, api.HoldResolution]) (api.HoldOutcomes, error) {
	b := &r.Body
	b.Author = cmp.Or(b.Author, r.User())
	return h.verbs().ResolveHolds(r.Context(), r.Params.ID, b)
}

func (h holds) resolveHoldsEach(r *rest.Request[IDParams, api.HoldVerdicts]) (api.VerdictOutcomes, error) {
	b := &r.Body
	for i := range b.Verdicts {
		b.Verdicts[i].Author = cmp.Or(b.Verdicts[i].Author, r.User())
	}
	return h.verbs().ResolveHoldsEach(r.Context(), r.Params.ID, b)
}

func (h holds) classifierState(r *rest.Request[IDParams, rest.None]) (api.ClassifierState, error) {
	id := r.Params.ID
	w, err := h.Store.Workflows.Get(r.Context(), id)
	if err != nil {
		return api.ClassifierState{}, err
	}
	s := api.ClassifierState{WorkflowID: id, Asks: h.AsksAgents}
	if w.Policy != nil {
		s.Policy = w.Policy.Classifier
	}
	if s.Calls, err = h.Store.Classifiers.Calls(r.Context(), id); err != nil {
		return s, err
	}
	s.Calls = NotNil(s.Calls)
	d, err := h.Store.Classifiers.Decide(r.Context(), id)
	if err != nil {
		return s, err
	}
	s.Pending = h.AsksAgents && classifier.Awaited(s.Calls, &d)
	s.Next = d.Line(h.Now().UnixMilli())
	return s, nil
}
