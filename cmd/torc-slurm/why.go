package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
)

func newWhyCommand(a *app) *cobra.Command {
	workflowText := ""
	c := &cobra.Command{
		Use:   "why [JOB]",
		Short: "Explain where a job or a workflow stands",
		Long: `Explain a job, by id or name: its state, what it waits for, whether it fits and
what is missing, each attempt with its cause and what was decided, and what
happens next. Without a job, explain the workflow.`,
		GroupID: groupAnalysis,
		Example: `  torc-slurm why                       your latest workflow
  torc-slurm why simulate_042          a job of it
  torc-slurm why 17                    the job with the id 17
  torc-slurm why -w 12 simulate_042    a job of workflow 12`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeJobs(&workflowText),
		Annotations:       serverExits(),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runWhy(c.Context(), firstArg(args), workflowText)
		},
	}
	a.addWorkflowFlag(c, &workflowText)
	return c
}

// addWorkflowFlag adds -w, which says which workflow a job is of.
func (a *app) addWorkflowFlag(c *cobra.Command, text *string) {
	c.Flags().StringVarP(text, "workflow", "w", "", "`ID` of the workflow (default: your latest)")
	complete := a.completeWorkflows(1)
	_ = c.RegisterFlagCompletionFunc("workflow", func(c *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return complete(c, nil, start)
	})
}

func (a *app) runWhy(ctx context.Context, job, workflowText string) error {
	conn, err := a.connect(ctx)
	if err != nil {
		return err
	}
	explanation, err := a.explain(ctx, conn, job, workflowText)
	if err != nil {
		return err
	}
	return a.showRecord(explanation, func(w io.Writer) { fmt.Fprint(w, explanation) })
}

func (a *app) explain(ctx context.Context, c *connection, job, workflowText string) (*api.Explanation, error) {
	if job == "" {
		id, err := a.latestWorkflowID(ctx, c, workflowText)
		if err != nil {
			return nil, err
		}
		return c.WhyWorkflow(ctx, id)
	}
	id, err := a.jobID(ctx, c, job, workflowText)
	if err != nil {
		return nil, err
	}
	return c.WhyJob(ctx, id)
}
