package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// RetryByHand makes a job that ended without success ready for another attempt; a dry run
// only returns which attempt that would be.
func (c Jobs) RetryByHand(ctx context.Context, id int64, r *api.RetryJobRequest) (*api.JobRetry, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.JobRetry](ctx, c, http.MethodPost, fmt.Sprintf("/jobs/%d/retry", id), r)
}
