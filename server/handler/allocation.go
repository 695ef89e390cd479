package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// allocations handles requests about allocations.
type allocations struct{ *Deps }

func (h allocations) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/allocations", "Request allocations from Slurm", h.allocate, rest.Conflict409),
		rest.Handle("GET", "/workflows/{id}/allocations", "List the allocations of a workflow", h.listAllocations),
		rest.Handle("GET", "/allocations/{id}", "Get an allocation", ByID(h.Store.Allocations.Get, api.FromAllocation)),
		rest.Handle("POST", "/allocations/{id}/cancel", "Cancel an allocation; its running jobs are preempted", h.cancelAllocation, rest.Conflict409),
		rest.Handle("GET", "/allocations/{id}/cancellation", "Show what the cancellation of an allocation would end, and how much work would be lost", h.proposeCancel, rest.Conflict409),
	}
}

func (h allocations) allocate(r *rest.Request[IDParams, api.AllocateRequest]) (api.AllocateResponse, error) {
	if n := r.Body.Count; n < 0 || n > service.MaxAllocate {
		return api.AllocateResponse{}, rest.InvalidField("count", n, "count must be between 1 and %d", service.MaxAllocate)
	}
	return h.verbs().Allocate(r.Context(), by(r), r.Params.ID, &r.Body)
}

type allocationListParams struct {
	IDParams
	pageParams
	State      *string `query:"state" doc:"intent, pending, active or ended"`
	SlurmJobID *int64  `query:"slurm_job_id"`
	Live       *bool   `query:"live" doc:"only those that have not ended"`
}

func (h allocations) listAllocations(r *rest.Request[allocationListParams, rest.None]) (api.Page[api.Allocation], error) {
	page, err := r.Params.Page()
	if err != nil {
		return api.Page[api.Allocation]{}, err
	}
	filter := store.AllocationFilter{WorkflowID: r.Params.ID, SlurmJobID: r.Params.SlurmJobID, Live: Or(r.Params.Live, false)}
	if r.Params.State != nil {
		state := compute.AllocationState(*r.Params.State)
		filter.State = &state
	}
	items, total, err := h.Store.Allocations.List(r.Context(), filter, page)
	if err != nil {
		return api.Page[api.Allocation]{}, err
	}
	left, err := h.Store.Allocations.Abandoned(r.Context())
	return api.NewPage(Each(items, func(a compute.Allocation) api.Allocation {
		shown := api.FromAllocation(a)
		shown.RunnersLeft = left[a.ID]
		return shown
	}), page.Offset, total), err
}

func (h allocations) cancelAllocation(r *rest.Request[IDParams, rest.None]) (api.Message, error) {
	return service.CancelAllocation(r.Context(), h.Store, by(r), r.Params.ID)
}

func (h allocations) proposeCancel(r *rest.Request[IDParams, rest.None]) (api.AllocationCancellation, error) {
	return service.ProposeAllocationCancel(r.Context(), h.verbs(), r.Params.ID)
}
