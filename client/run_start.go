package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// StartRun starts a run of a workflow whose jobs wait for one; a dry run only returns what
// would start. The call may be repeated: a run that has started is left alone.
func (c Workflows) StartRun(ctx context.Context, id int64, r *api.StartRunRequest) (*api.RunStart, error) {
	return call[api.RunStart](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/start_run", id), r)
}
