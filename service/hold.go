package service

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
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

// Holds has the operations on what is remembered of held jobs.
type Holds struct{ Store *store.Store }

// rememberedAtOnce is how many verdicts are read at once.
const rememberedAtOnce = 10_000

// SuggestPolicy returns a retry policy that decides as the verdicts of a workflow did, or, if
// its id is 0, those of all. At least minJobs jobs must have failed alike; fewer than 1 is
// CodeInvalid.
func (s Holds) SuggestPolicy(ctx context.Context, workflowID, minJobs int64) (hold.SuggestedPolicy, error) {
	if minJobs < 1 {
		return hold.SuggestedPolicy{}, workflow.Errorf(workflow.CodeInvalid, "min_jobs %d: it must be at least 1", minJobs)
	}
	var all []hold.EarlierVerdict
	for {
		page, total, err := s.Store.Holds.Verdicts(ctx, store.VerdictFilter{WorkflowID: workflowID}, store.Page{Offset: int64(len(all)), Limit: rememberedAtOnce})
		if err != nil {
			return hold.SuggestedPolicy{}, err
		}
		if all = append(all, page...); len(page) == 0 || int64(len(all)) >= total {
			return hold.Suggest(all, minJobs), nil
		}
	}
}
