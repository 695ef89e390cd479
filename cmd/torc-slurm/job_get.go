package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newJobsGetCommand(a *app) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:   "get JOB",
		Short: "Show a job with its relations",
		Long:  `Show a job, by id or by name.`,
		Example: `  torc-slurm jobs get 42
  torc-slurm -f json jobs get simulate_042 | jq -r .command`,
		Annotations: serverExits(),
		RunE: a.jobCommand(&workflowText, func(ctx context.Context, c *connection, ids []int64) error {
			j, err := c.Job(ctx, ids[0])
			if err != nil {
				return err
			}
			return a.showRecord(j, func(out io.Writer) { writeFields(out, jobFields(j, a.Now())...) })
		}),
	}
	a.addJobArguments(cmd, &workflowText, false)
	return cmd
}

func newJobsRunningCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "running [WORKFLOW]",
		Short: "List the running jobs of a workflow with their nodes",
		Example: `  torc-slurm jobs running 12
  torc-slurm -f csv jobs running 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			jobs, err := client.Collect(c.RunningJobs(ctx, id, client.Page{}))
			if err != nil {
				return err
			}
			now := a.Now()
			return showList(a, list[api.RunningJob]{things: "running jobs", columns: []column[api.RunningJob]{
				{title: "Job ID", cell: func(j api.RunningJob) string { return orEmpty(&j.JobID) }},
				{title: "Job Name", cell: func(j api.RunningJob) string { return j.JobName }},
				{title: "Compute Node", cell: func(j api.RunningJob) string { return j.ComputeNodeName }},
				{title: "Elapsed", cell: func(j api.RunningJob) string { return elapsedSince(j.StartTime, now) }},
				{title: "Silent", cell: func(j api.RunningJob) string {
					if j.SilentSeconds == nil {
						return ""
					}
					return workflow.FormatSeconds(*j.SilentSeconds)
				}},
				{title: "Scheduler", cell: func(j api.RunningJob) string { return j.SchedulerType }},
				{title: "Scheduler Job ID", cell: func(j api.RunningJob) string { return orEmpty(j.SchedulerJobID) }},
			}}, jobs)
		}),
	}
}

// retriesText says what each rule has granted: "io/busy 2, default/preempted 1 free".
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
