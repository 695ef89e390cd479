package client

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

// Efficiency compares what the jobs of a workflow used with what they requested, by families, of
// one run if it is given.
func (c Workflows) Efficiency(ctx context.Context, workflowID int64, run *int64) (*api.Efficiency, error) {
	return get[api.Efficiency](ctx, c, "/workflows/%d/efficiency%s", workflowID, encode(values("run_id", run)))
}
