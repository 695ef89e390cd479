// Package computenodes has the commands about compute nodes.
package computenodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about compute nodes.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupCompute, "compute-nodes", "Runners that take jobs",
		newGet(a),
		newList(a),
	)
}

// nodeScheduler is what a runner reports about its allocation.
type nodeScheduler struct {
	Type       string          `json:"type"`
	SlurmJobID json.RawMessage `json:"slurm_job_id"`
}

func schedulerOf(n api.ComputeNode) nodeScheduler {
	var s nodeScheduler
	_ = json.Unmarshal(n.Scheduler, &s) // free; other clients write what they like
	s.Type = cli.FirstOf(s.Type, n.ComputeNodeType)
	return s
}

// useText formats a peak and an average; empty if there are none.
func useText[T int64 | float64](peak, average *T, write func(T) string) string {
	if peak == nil && average == nil {
		return ""
	}
	one := func(v *T) string {
		if v == nil {
			return "?"
		}
		return write(*v)
	}
	return one(peak) + " / " + one(average)
}

func computeNodeColumns(now time.Time) cli.List[api.ComputeNode] {
	return cli.List[api.ComputeNode]{Things: "compute nodes", Columns: []cli.Column[api.ComputeNode]{
		{Title: "ID", Cell: func(n api.ComputeNode) string { return cli.OrEmpty(n.ID) }},
		{Title: "Hostname", Cell: func(n api.ComputeNode) string { return n.Hostname }},
		{Title: "Scheduler", Cell: func(n api.ComputeNode) string { return schedulerOf(n).Type }},
		{Title: "Scheduler Job ID", Cell: func(n api.ComputeNode) string { return strings.Trim(string(schedulerOf(n).SlurmJobID), `"`) }},
		{Title: "Labels", Cell: func(n api.ComputeNode) string { return cli.Joined(n.Labels) }},
		{Title: "PID", Cell: func(n api.ComputeNode) string { return fmt.Sprint(n.PID) }},
		{Title: "CPUs", Cell: func(n api.ComputeNode) string { return fmt.Sprint(n.NumCPUs) }},
		{Title: "Memory (GB)", Cell: func(n api.ComputeNode) string { return fmt.Sprintf("%.2f", n.MemoryGB) }},
		{Title: "GPUs", Cell: func(n api.ComputeNode) string { return fmt.Sprint(n.NumGPUs) }},
		{Title: "Active", Cell: func(n api.ComputeNode) string { return cli.YesNo(n.IsActive) }},
		{Title: "Start Time", Cell: func(n api.ComputeNode) string { return n.StartTime }},
		{Title: "Duration", Cell: func(n api.ComputeNode) string { return nodeDuration(n, now) }},
		{Title: "CPU peak/avg", Cell: func(n api.ComputeNode) string { return useText(n.PeakCPUPercent, n.AvgCPUPercent, cli.PercentText) }},
		{Title: "Mem peak/avg", Cell: func(n api.ComputeNode) string {
			return useText(n.PeakMemoryBytes, n.AvgMemoryBytes, workflow.FormatBytes)
		}},
	}}
}

// nodeDuration returns how long a runner ran, or has been running.
func nodeDuration(n api.ComputeNode, now time.Time) string {
	switch {
	case n.DurationSeconds != nil:
		return workflow.FormatDuration(time.Duration(*n.DurationSeconds * float64(time.Second)))
	case n.IsActive != nil && *n.IsActive:
		return cli.ElapsedSince(&n.StartTime, now)
	}
	return ""
}

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing   cli.ListFlags
		scheduled int64
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the runners of a workflow",
		Example: `  torc-slurm compute-nodes list 12
  torc-slurm -f json compute-nodes list 12 | jq '.items[] | select(.is_active)'`,
	})
	cli.FreeLetterS(a, cmd)
	listing.Add(cmd, cli.ListShorthands{Offset: "o", SortBy: "s", Reverse: "r"}, "hostname", "pid", "start_time", "duration_seconds",
		"is_active", "num_cpus", "memory_gb", "num_gpus", "num_nodes", "peak_cpu_percent", "avg_cpu_percent", "peak_memory_bytes", "avg_memory_bytes")
	cmd.Flags().Int64Var(&scheduled, "scheduled-compute-node", 0, "only runners of this scheduled compute `NODE`")
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, computeNodeColumns(a.Now()), c.ComputeNodes.List(ctx, client.ComputeNodeFilter{
			Page: listing.Page, WorkflowID: id, ScheduledComputeNodeID: cli.Given(cmd, "scheduled-compute-node", scheduled),
		}))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get COMPUTE_NODE",
		Short:       "Show a runner",
		Example:     `  torc-slurm compute-nodes get 4`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("compute node", func(ctx context.Context, c *cli.Connection, id int64) error {
			n, err := c.ComputeNodes.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(n, func(w io.Writer) {
				fields := []cli.Field{{"Workflow", fmt.Sprint(n.WorkflowID)}}
				for _, column := range computeNodeColumns(a.Now()).Columns {
					fields = append(fields, cli.Field{column.Title, column.Cell(*n)})
				}
				cli.WriteFields(w, append(fields, cli.Field{"Allocation ends", cli.OrEmpty(n.EndTime)}, cli.Field{"Time limit", cli.OrEmpty(n.TimeLimit)})...)
			})
		}),
	}
}
