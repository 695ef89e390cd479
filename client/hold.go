package client

import (
	"context"
	"fmt"
	"net/http"

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
