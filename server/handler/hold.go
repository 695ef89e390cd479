package handler

import (
	"cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// holds handles requests about held jobs.
type holds struct{ *Deps }

func (h holds) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/holds", "List the jobs that wait for a classification, grouped by how they failed", h.listHolds),
		rest.Handle("GET", "/workflows/{id}/failure_groups", "List the jobs that failed in this run, grouped by how they failed", h.failureGroups),
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
		if g.Earlier, err = h.Store.Holds.Earlier(r.Context(), g.Fingerprint, earlierVerdicts); err != nil {
			return api.HoldList{}, err
		}
	}
	return list, nil
}

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
