package service

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ResolveHolds classifies held jobs, or, in a dry run, says what would become of each. A job
// whose hold cannot end is named with the reason, and the others are resolved. A request
// that names its jobs in no way or in several is CodeInvalid.
func (s *Service) ResolveHolds(ctx context.Context, workflowID int64, q *api.HoldResolution) (api.HoldOutcomes, error) {
	ways := 0
	for _, given := range []bool{len(q.JobIDs) > 0, q.Fingerprint != "", q.All} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return api.HoldOutcomes{}, workflow.Errorf(workflow.CodeInvalid, "name the jobs by one of job_ids, fingerprint and all")
	}
	outcomes, err := s.Store.Holds.Resolve(ctx, workflowID, store.HoldSelection{JobIDs: q.JobIDs, Fingerprint: q.Fingerprint}, q.Classification,
		store.ResolveOptions{DryRun: q.DryRun, Force: q.Force})
	return api.HoldOutcomes{Outcomes: outcomes}, err
}

// ResolveHoldsEach classifies held jobs by a list of verdicts, or, in a dry run, says what
// would become of each. A wrong entry is named with the reason, and the others count. An
// empty list, and one of more than api.MaxLimit entries, is CodeInvalid.
func (s *Service) ResolveHoldsEach(ctx context.Context, workflowID int64, q *api.HoldVerdicts) (api.VerdictOutcomes, error) {
	switch n := len(q.Verdicts); {
	case n == 0:
		return api.VerdictOutcomes{}, workflow.Errorf(workflow.CodeInvalid, "the list of verdicts is empty")
	case n > api.MaxLimit:
		return api.VerdictOutcomes{}, workflow.Errorf(workflow.CodeInvalid, "the list of verdicts has %d entries; at most %d are accepted at once", n, api.MaxLimit)
	}
	outcomes, err := s.Store.Holds.ResolveEach(ctx, workflowID, q.Verdicts, store.ResolveOptions{DryRun: q.DryRun, Force: q.Force})
	return api.VerdictOutcomes{Outcomes: outcomes}, err
}
