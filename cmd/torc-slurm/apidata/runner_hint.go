package apidata

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// HintAtRunner says how to run the jobs if no runner does.
func HintAtRunner(ctx context.Context, a *cli.Factory, c *cli.Connection, workflowID int64) error {
	status, err := c.Workflows.Status(ctx, workflowID)
	if err != nil {
		return fmt.Errorf("look for runners of workflow %d: %w", workflowID, err)
	}
	if status.ActiveComputeNodes == 0 {
		a.Note("Next: %s run %d", cli.Prefix(a), workflowID)
	}
	return nil
}
