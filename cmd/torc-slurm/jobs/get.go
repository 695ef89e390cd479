package jobs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newGet(a *cli.Factory) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:   "get JOB",
		Short: "Show a job with its relations",
		Long:  `Show a job, by id or by name.`,
		Example: `  torc-slurm jobs get 42
  torc-slurm -f json jobs get simulate_042 | jq -r .command`,
		Annotations: cli.ServerExits(),
		RunE: a.JobCommand(&workflowText, func(ctx context.Context, c *cli.Connection, ids []int64) error {
			j, err := c.Jobs.Get(ctx, ids[0])
			if err != nil {
				return err
			}
			return a.ShowRecord(j, func(out io.Writer) { cli.WriteFields(out, jobFields(j, a.Now())...) })
		}),
	}
	a.AddJobArguments(cmd, &workflowText, false)
	return cmd
}

func newRunning(a *cli.Factory) *cobra.Command {
	return cli.OnWorkflow(a, &cobra.Command{
		Use:   "running [WORKFLOW]",
		Short: "List the running jobs of a workflow with their nodes",
		Example: `  torc-slurm jobs running 12
  torc-slurm -f csv jobs running 12`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			return cli.ShowAll(a, runningColumns(a.Now()), c.Jobs.Running(ctx, id, client.Page{}))
		}),
	})
}

func runningColumns(now time.Time) cli.List[api.RunningJob] {
	return cli.List[api.RunningJob]{Things: "running jobs", Columns: []cli.Column[api.RunningJob]{
		{Title: "Job ID", Cell: func(j api.RunningJob) string { return cli.OrEmpty(&j.JobID) }},
		{Title: "Job Name", Cell: func(j api.RunningJob) string { return j.JobName }},
		{Title: "Compute Node", Cell: func(j api.RunningJob) string { return j.ComputeNodeName }},
		{Title: "Elapsed", Cell: func(j api.RunningJob) string { return cli.ElapsedSince(j.StartTime, now) }},
		{Title: "Silent", Cell: func(j api.RunningJob) string {
			if j.SilentSeconds == nil {
				return ""
			}
			return workflow.FormatSeconds(*j.SilentSeconds)
		}},
		{Title: "Scheduler", Cell: func(j api.RunningJob) string { return j.SchedulerType }},
		{Title: "Scheduler Job ID", Cell: func(j api.RunningJob) string { return cli.OrEmpty(j.SchedulerJobID) }},
	}}
}

// retriesText returns the retries that each rule granted: "io/busy 2, default/preempted 1 free".
func retriesText(counts map[string]workflow.RuleCount) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[key].Counted; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", key, n))
		}
		if n := counts[key].Free; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d free", key, n))
		}
	}
	return strings.Join(parts, ", ")
}

func avoidedText(nodes []workflow.AvoidedNode) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Node
	}
	return strings.Join(names, ", ")
}
