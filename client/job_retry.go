package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// RetryByHand makes a job that did not succeed, in whatever way, ready for another
// attempt; a dry run says which.
func (c Jobs) RetryByHand(ctx context.Context, id int64, r *api.RetryJobRequest) (*api.JobRetry, error) {
	if r.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.JobRetry](ctx, c, http.MethodPost, fmt.Sprintf("/jobs/%d/retry", id), r)
}
