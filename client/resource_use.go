package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/torc-slurm/torc-slurm/api"
)

// Check compares what the jobs of a workflow used with their resource requirements.
func (c ResourceRequirements) Check(ctx context.Context, workflowID int64, f api.ResourceFilter) (*api.ResourceReport, error) {
	query := values("run_id", f.RunID, "all", f.All, "include_failed", f.IncludeFailed)
	query.Set("min_over_percent", strconv.FormatFloat(f.MinOverPercent, 'g', -1, 64))
	return get[api.ResourceReport](ctx, c, "/workflows/%d/check_resources%s", workflowID, encode(query))
}

// Correct adapts the resource requirements of a workflow to what its jobs used; a dry run
// only returns the changes.
func (c ResourceRequirements) Correct(ctx context.Context, workflowID int64, r *api.CorrectResourcesRequest) (*api.CorrectionReport, error) {
	return call[api.CorrectionReport](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/correct_resources", workflowID), r)
}

// Statistics returns what jobs used, by the requirements that they share; only of completed
// jobs if wanted.
func (c ResourceRequirements) Statistics(ctx context.Context, workflowID int64, onlyCompleted bool) (*api.ResourceStatistics, error) {
	return get[api.ResourceStatistics](ctx, c, "/workflows/%d/resource_statistics%s", workflowID, encode(values("completed_only", onlyCompleted)))
}
