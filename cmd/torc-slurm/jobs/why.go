package jobs

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// NewWhy returns the command that explains the status of a job or a workflow.
func NewWhy(a *cli.Factory) *cobra.Command {
	workflowText := ""
	c := &cobra.Command{
		Use:   "why [JOB]",
		Short: "Explain the status of a job or a workflow",
		Long: `Explain a job, by id or name: its status, what it waits for, whether and where it
fits, each attempt with its cause and the decision, and what happens next. Without a
job, explain the workflow.`,
		GroupID: cli.GroupAnalysis,
		Example: `  torc-slurm why                       your latest workflow
  torc-slurm why simulate_042          a job of it
  torc-slurm why 17                    the job with the id 17
  torc-slurm why -w 12 simulate_042    a job of workflow 12`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteJobs(a, &workflowText),
		Annotations:       cli.ServerExits(),
		RunE: func(c *cobra.Command, args []string) error {
			return runWhy(c.Context(), a, cli.FirstArg(args), workflowText)
		},
	}
	cli.AddWorkflowFlag(a, c, &workflowText)
	return c
}

func runWhy(ctx context.Context, a *cli.Factory, job, workflowText string) error {
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	explanation, err := askWhy(ctx, a, conn, job, workflowText)
	if err != nil {
		return err
	}
	return a.ShowRecord(explanation, func(w io.Writer) { fmt.Fprint(w, explanation) })
}

func askWhy(ctx context.Context, a *cli.Factory, c *cli.Connection, job, workflowText string) (*api.Explanation, error) {
	if job == "" {
		id, err := a.LatestWorkflowID(ctx, c, workflowText)
		if err != nil {
			return nil, err
		}
		return c.Workflows.Why(ctx, id)
	}
	id, err := a.JobID(ctx, c, job, workflowText)
	if err != nil {
		return nil, err
	}
	return c.Jobs.Why(ctx, id)
}
