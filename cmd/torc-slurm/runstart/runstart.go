// Package runstart starts runs of workflows, once the files that their jobs read exist.
package runstart

import (
	"context"
	"errors"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// Ensure starts a run of a workflow if its jobs wait for one. Unless ignoreMissing is set,
// it returns CodeConflict if files are missing that the jobs read.
func Ensure(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, ignoreMissing bool) error {
	waits := false
	if !ignoreMissing {
		proposal, err := Check(ctx, a, c, id)
		if err != nil || proposal != nil && !proposal.Started {
			return err
		}
		waits = proposal != nil
	}
	start, err := c.Workflows.StartRun(ctx, id, &api.StartRunRequest{})
	if err == nil && waits && !start.Started {
		a.Note("Run %d of workflow %d was started meanwhile.", start.RunID, id)
	}
	return err
}

// Check proposes the start of a run and returns CodeConflict if files are missing that its
// jobs read. The proposal is nil if the start is rejected; the start itself says why.
func Check(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (*api.RunStart, error) {
	proposal, err := c.Workflows.StartRun(ctx, id, &api.StartRunRequest{DryRun: true})
	var rejection *client.APIError
	switch {
	case errors.As(err, &rejection) && (rejection.Status == http.StatusConflict || rejection.Status == http.StatusUnprocessableEntity):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return proposal, checkRequired(ctx, a, c, id, proposal.RequiredFiles)
}
