package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/torc-slurm/torc-slurm/api"
)

// List lists the failure handlers of a workflow.
func (c FailureHandlers) List(ctx context.Context, workflowID int64, page Page) iter.Seq2[api.FailureHandler, error] {
	return pages[api.FailureHandler](ctx, c, fmt.Sprintf("/workflows/%d/failure_handlers", workflowID), page, nil)
}

// Get returns a failure handler.
func (c FailureHandlers) Get(ctx context.Context, id int64) (*api.FailureHandler, error) {
	return get[api.FailureHandler](ctx, c, "/failure_handlers/%d", id)
}
