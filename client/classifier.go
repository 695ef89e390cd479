package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Classifier returns what agents were asked about the held jobs of a workflow in this run.
func (c Holds) Classifier(ctx context.Context, workflowID int64) (*api.ClassifierState, error) {
	return get[api.ClassifierState](ctx, c, "/workflows/%d/classifier", workflowID)
}
