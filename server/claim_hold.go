package server

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) claimHoldRoutes() []route {
	return []route{
		handle("GET", "/workflows/{id}/claim_holds", "List why no job of a workflow is granted, and was not", s.listClaimHolds),
		handle("POST", "/workflows/{id}/release_claims", "Lift what holds the claims of a workflow", s.releaseClaims),
	}
}

func (s *Server) listClaimHolds(r *request[idParams, none]) (api.ClaimHoldList, error) {
	holds, err := s.Store.ClaimHolds(r.Context(), r.Params.ID)
	return api.ClaimHoldList{Holds: notNil(holds)}, err
}

func (s *Server) releaseClaims(r *request[idParams, api.ClaimRelease]) (api.ClaimsReleased, error) {
	kind := r.Body.Kind
	if kind != "" && !slices.Contains(workflow.ClaimHoldKinds(), kind) {
		return api.ClaimsReleased{}, workflow.Errorf(workflow.CodeInvalid, "nothing of the kind %q holds claims", kind).
			WithHint("the kinds are %s", strings.Join(workflow.ClaimHoldKindNames(), ", "))
	}
	n, err := s.Store.ReleaseClaims(r.Context(), r.Params.ID, kind, r.user())
	return api.ClaimsReleased{Released: n}, err
}
