package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// Operate cancels, holds, releases or prioritizes chosen jobs of a workflow. The priority is
// sent only to prioritize.
func (c Jobs) Operate(ctx context.Context, workflowID int64, verb operate.Verb, q *api.JobPrioritization) (*api.JobsOperated, error) {
	path := fmt.Sprintf("/workflows/%d/%s_jobs", workflowID, verb)
	if verb == operate.Prioritize {
		return call[api.JobsOperated](repeatable(ctx), c, http.MethodPost, path, q)
	}
	return call[api.JobsOperated](repeatable(ctx), c, http.MethodPost, path, &q.JobOperation)
}

// Cancel cancels one job.
func (c Jobs) Cancel(ctx context.Context, id int64, q *api.JobCancellation) (*api.JobsOperated, error) {
	return call[api.JobsOperated](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/jobs/%d/cancel", id), q)
}
