package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Stages lists the stages of a workflow, each after its parent.
func (c Workflows) Stages(ctx context.Context, workflowID int64) ([]api.Stage, error) {
	out, err := get[api.Stages](ctx, c, "/workflows/%d/stages", workflowID)
	if err != nil {
		return nil, err
	}
	return out.Stages, nil
}
