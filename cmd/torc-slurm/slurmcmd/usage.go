package slurmcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
)

func newUsage(a *cli.Factory) *cobra.Command {
	return cli.OnWorkflow(a, &cobra.Command{
		Use:   "usage [WORKFLOW]",
		Short: "Sum up the node and CPU time of a workflow's allocations",
		Long: `Sum up how long the allocations of a workflow held nodes and CPUs, used or not, according
to Slurm's accounting. This is what a site charges.

For allocations that were requested with a forecast, compare what was expected of them with what
happened: how long they were pending, and which part of their CPU time no job used.`,
		Example: `  torc-slurm slurm usage 12`,
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			u, err := c.Workflows.SlurmUsage(ctx, id)
			var refusal *client.APIError
			if errors.As(err, &refusal) && refusal.Status == http.StatusConflict { // there is no Slurm where the server is
				u, err = usageHere(ctx, a, c, id)
			}
			if err != nil {
				return err
			}
			return a.ShowRecord(u, func(w io.Writer) {
				cli.WriteFields(w, cli.Field{"Workflow", fmt.Sprint(u.WorkflowID)}, cli.Field{"Slurm jobs", fmt.Sprint(u.TotalSlurmJobs)},
					cli.Field{"Nodes", fmt.Sprint(u.TotalNodes)}, cli.Field{"Node time", u.TotalNodeTime}, cli.Field{"CPU time", u.TotalCPUTime},
					cli.Field{"Not known", strings.Join(u.Errors, "\n")})
				writeCalibration(w, u.Forecast)
			})
		}),
	})
}

// usageHere returns the usage according to the Slurm of this machine.
func usageHere(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (*api.SlurmUsage, error) {
	accounts, err := accounting(ctx, a, c, id)
	if err != nil {
		return nil, err
	}
	u := accounts.poll.Usage(accounts.jobs)
	return &api.SlurmUsage{
		WorkflowID: id, TotalSlurmJobs: len(accounts.jobs), TotalNodes: u.Nodes, UnknownNodeCount: u.UnknownNodes, Errors: accounts.unknown(),
		TotalNodeTime: slurm.FormatDuration(u.NodeTime), TotalNodeTimeSeconds: int64(u.NodeTime / time.Second),
		TotalCPUTime: slurm.FormatDuration(u.CPUTime), TotalCPUTimeSeconds: int64(u.CPUTime / time.Second),
	}, nil
}
