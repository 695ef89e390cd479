package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// List lists the held jobs of a workflow, which wait for a classification, grouped by their
// failure; of all workflows if the id is 0.
func (c Holds) List(ctx context.Context, workflowID int64) ([]hold.HoldGroup, error) {
	path := "/holds"
	if workflowID != 0 {
		path += fmt.Sprintf("?workflow_id=%d", workflowID)
	}
	out, err := call[api.HoldList](ctx, c, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return out.Groups, nil
}

// FailureGroups lists the largest groups of jobs of a workflow that failed alike in this run.
func (c Workflows) FailureGroups(ctx context.Context, workflowID int64) (*api.FailureGroupList, error) {
	return get[api.FailureGroupList](ctx, c, "/workflows/%d/failure_groups", workflowID)
}

// Resolve classifies held jobs and returns the outcome for each.
func (c Holds) Resolve(ctx context.Context, workflowID int64, h *api.HoldResolution) ([]hold.HoldOutcome, error) {
	out, err := call[api.HoldOutcomes](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/resolve_holds", workflowID), h)
	if err != nil {
		return nil, err
	}
	return out.Outcomes, nil
}

// ResolveEach classifies held jobs by a list of verdicts and returns the outcome for each
// verdict.
func (c Holds) ResolveEach(ctx context.Context, workflowID int64, v *api.HoldVerdicts) ([]hold.VerdictOutcome, error) {
	out, err := call[api.VerdictOutcomes](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/hold_verdicts", workflowID), v)
	if err != nil {
		return nil, err
	}
	return out.Outcomes, nil
}

// VerdictFilter selects remembered verdicts; zero values do not filter.
type VerdictFilter struct {
	Page
	WorkflowID  int64
	Fingerprint string
}

// Verdicts lists the verdicts that are remembered, also those of deleted workflows, and what
// became of their jobs.
func (c Holds) Verdicts(ctx context.Context, f VerdictFilter) iter.Seq2[hold.EarlierVerdict, error] {
	query := values("fingerprint", f.Fingerprint)
	if f.WorkflowID != 0 {
		query.Set("workflow_id", fmt.Sprint(f.WorkflowID))
	}
	return pages[hold.EarlierVerdict](ctx, c, "/holds/verdicts", f.Page, query)
}

// SuggestPolicy returns a retry policy that decides as the verdicts of a workflow did, or of
// all if its id is 0. At least minJobs jobs must have failed alike.
func (c Holds) SuggestPolicy(ctx context.Context, workflowID, minJobs int64) (*hold.SuggestedPolicy, error) {
	query := url.Values{"min_jobs": {fmt.Sprint(minJobs)}}
	if workflowID != 0 {
		query.Set("workflow_id", fmt.Sprint(workflowID))
	}
	return call[hold.SuggestedPolicy](ctx, c, http.MethodGet, "/holds/suggested_policy?"+query.Encode(), nil)
}
