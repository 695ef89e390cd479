package server

import (
	"cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) holdRoutes() []route {
	return []route{
		handle("GET", "/holds", "List the jobs that wait for a classification, grouped by how they failed", s.listHolds),
		handle("POST", "/workflows/{id}/resolve_holds", "Classify held jobs; each is resolved or refused by itself", s.resolveHolds, bulk),
		handle("POST", "/workflows/{id}/hold_verdicts", "Classify held jobs, each as an entry of a list says; each entry counts or is refused by itself", s.resolveHoldsEach, bulk),
	}
}

type holdListParams struct {
	WorkflowID *int64 `query:"workflow_id" doc:"of this workflow; of all without it"`
}

func (s *Server) listHolds(r *request[holdListParams, none]) (api.HoldList, error) {
	held, err := s.Store.HeldJobs(r.Context(), or(r.Params.WorkflowID, 0))
	return api.HoldList{Groups: workflow.GroupHeld(held)}, err
}

func (s *Server) resolveHolds(r *request[idParams, api.HoldResolution]) (api.HoldOutcomes, error) {
	b := &r.Body
	ways := 0
	for _, given := range []bool{len(b.JobIDs) > 0, b.Fingerprint != "", b.All} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return api.HoldOutcomes{}, workflow.Errorf(workflow.CodeInvalid, "say which jobs are meant by one of job_ids, fingerprint and all")
	}
	c := b.Classification
	c.Author = cmp.Or(c.Author, r.user())
	outcomes, err := s.Store.ResolveHolds(r.Context(), r.Params.ID, store.HoldSelection{JobIDs: b.JobIDs, Fingerprint: b.Fingerprint}, c,
		store.ResolveOptions{DryRun: b.DryRun, Force: b.Force})
	return api.HoldOutcomes{Outcomes: outcomes}, err
}

func (s *Server) resolveHoldsEach(r *request[idParams, api.HoldVerdicts]) (api.VerdictOutcomes, error) {
	b := &r.Body
	switch n := len(b.Verdicts); {
	case n == 0:
		return api.VerdictOutcomes{}, workflow.Errorf(workflow.CodeInvalid, "the list of verdicts is empty")
	case n > api.MaxLimit:
		return api.VerdictOutcomes{}, workflow.Errorf(workflow.CodeInvalid, "the list of verdicts has %d entries; at most %d are accepted at once", n, api.MaxLimit)
	}
	for i := range b.Verdicts {
		b.Verdicts[i].Author = cmp.Or(b.Verdicts[i].Author, r.user())
	}
	outcomes, err := s.Store.ResolveHoldsEach(r.Context(), r.Params.ID, b.Verdicts, store.ResolveOptions{DryRun: b.DryRun, Force: b.Force})
	return api.VerdictOutcomes{Outcomes: outcomes}, err
}
