package handler

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// claimHolds handles requests about what holds the claims of a workflow.
type claimHolds struct{ *Deps }

func (h claimHolds) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/claim_holds", "List the claim holds of a workflow, present and past: why no job is granted", h.listClaimHolds),
		rest.Handle("POST", "/workflows/{id}/release_claims", "Release claim holds of a workflow", h.releaseClaims),
		rest.Handle("POST", "/workflows/{id}/pause", "Stop new claims of a workflow until they are released, or show what that would stop", h.pause, rest.Conflict409),
	}
}

func (h claimHolds) pause(r *rest.Request[IDParams, api.PauseRequest]) (api.PauseOutcome, error) {
	return service.Pause(r.Context(), h.verbs(), by(r), r.Params.ID, &r.Body)
}

func (h claimHolds) listClaimHolds(r *rest.Request[IDParams, rest.None]) (api.ClaimHoldList, error) {
	holds, err := h.Store.ClaimHolds.List(r.Context(), r.Params.ID)
	return api.ClaimHoldList{Holds: NotNil(holds)}, err
}

func (h claimHolds) releaseClaims(r *rest.Request[IDParams, api.ClaimRelease]) (api.ClaimsReleased, error) {
	kind := r.Body.Kind
	if kind != "" && !slices.Contains(hold.ClaimHoldKinds(), kind) {
		return api.ClaimsReleased{}, workflow.Errorf(workflow.CodeInvalid, "nothing of the kind %q holds claims", kind).
			WithHint("the kinds are %s", strings.Join(hold.ClaimHoldKindNames(), ", "))
	}
	released, err := h.Store.ClaimHolds.Release(r.Context(), r.Params.ID, kind, r.User())
	return api.ClaimsReleased{Released: int64(len(released)), Holds: released}, err
}
