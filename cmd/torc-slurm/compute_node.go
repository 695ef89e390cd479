package main

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
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newComputeNodesCommand groups the commands about runners.
func newComputeNodesCommand(a *app) *cobra.Command {
	return newGroup(a, groupCompute, "compute-nodes", "Runners that take jobs",
		newComputeNodesGetCommand(a),
		newComputeNodesListCommand(a),
	)
}

// nodeScheduler is what a runner says about the allocation that it is in.
type nodeScheduler struct {
	Type       string          `json:"type"`
	SlurmJobID json.RawMessage `json:"slurm_job_id"`
}

func schedulerOf(n api.ComputeNode) nodeScheduler {
	var s nodeScheduler
	_ = json.Unmarshal(n.Scheduler, &s) // free; other clients write what they like
	s.Type = firstOf(s.Type, n.ComputeNodeType)
	return s
}

// useText writes a peak and an average; nothing if there are none.
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

func percentText(v float64) string { return fmt.Sprintf("%.1f%%", v) }

func computeNodeColumns(now time.Time) list[api.ComputeNode] {
	return list[api.ComputeNode]{things: "compute nodes", columns: []column[api.ComputeNode]{
		{title: "ID", cell: func(n api.ComputeNode) string { return orEmpty(n.ID) }},
		{title: "Hostname", cell: func(n api.ComputeNode) string { return n.Hostname }},
		{title: "Scheduler", cell: func(n api.ComputeNode) string { return schedulerOf(n).Type }},
		{title: "Scheduler Job ID", cell: func(n api.ComputeNode) string { return strings.Trim(string(schedulerOf(n).SlurmJobID), `"`) }},
		{title: "Labels", cell: func(n api.ComputeNode) string { return joined(n.Labels) }},
		{title: "PID", cell: func(n api.ComputeNode) string { return fmt.Sprint(n.PID) }},
		{title: "CPUs", cell: func(n api.ComputeNode) string { return fmt.Sprint(n.NumCPUs) }},
		{title: "Memory (GB)", cell: func(n api.ComputeNode) string { return fmt.Sprintf("%.2f", n.MemoryGB) }},
		{title: "GPUs", cell: func(n api.ComputeNode) string { return fmt.Sprint(n.NumGPUs) }},
		{title: "Active", cell: func(n api.ComputeNode) string { return yesNo(n.IsActive) }},
		{title: "Start Time", cell: func(n api.ComputeNode) string { return n.StartTime }},
		{title: "Duration", cell: func(n api.ComputeNode) string { return nodeDuration(n, now) }},
		{title: "CPU peak/avg", cell: func(n api.ComputeNode) string { return useText(n.PeakCPUPercent, n.AvgCPUPercent, percentText) }},
		{title: "Mem peak/avg", cell: func(n api.ComputeNode) string {
			return useText(n.PeakMemoryBytes, n.AvgMemoryBytes, workflow.FormatBytes)
		}},
	}}
}

// nodeDuration is how long a runner was, or has been, there.
func nodeDuration(n api.ComputeNode, now time.Time) string {
	switch {
	case n.DurationSeconds != nil:
		return workflow.FormatDuration(time.Duration(*n.DurationSeconds * float64(time.Second)))
	case n.IsActive != nil && *n.IsActive:
		return elapsedSince(&n.StartTime, now)
	}
	return ""
}

func newComputeNodesListCommand(a *app) *cobra.Command {
	var (
		listing   listFlags
		scheduled int64
	)
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the runners of a workflow",
		Example: `  torc-slurm compute-nodes list 12
  torc-slurm -f json compute-nodes list 12 | jq '.items[] | select(.is_active)'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	freeLetterS(a, cmd)
	listing.add(cmd, listShorthands{offset: "o", sortBy: "s", reverse: "r"}, "hostname", "pid", "start_time", "duration_seconds",
		"is_active", "num_cpus", "memory_gb", "num_gpus", "num_nodes", "peak_cpu_percent", "avg_cpu_percent", "peak_memory_bytes", "avg_memory_bytes")
	cmd.Flags().Int64Var(&scheduled, "scheduled-compute-node", 0, "only runners of this scheduled compute `NODE`")
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		nodes, err := client.Collect(c.ComputeNodes(ctx, client.ComputeNodeFilter{
			Page: listing.page, WorkflowID: id, ScheduledComputeNodeID: given(cmd, "scheduled-compute-node", scheduled),
		}))
		if err != nil {
			return err
		}
		return showList(a, computeNodeColumns(a.Now()), nodes)
	}))
	return cmd
}

func newComputeNodesGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get COMPUTE_NODE",
		Short:       "Show a runner",
		Example:     `  torc-slurm compute-nodes get 4`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("compute node", func(ctx context.Context, c *connection, id int64) error {
			n, err := c.ComputeNode(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(n, func(w io.Writer) {
				fields := []field{{"Workflow", fmt.Sprint(n.WorkflowID)}}
				for _, column := range computeNodeColumns(a.Now()).columns {
					fields = append(fields, field{column.title, column.cell(*n)})
				}
				writeFields(w, append(fields, field{"Allocation ends", orEmpty(n.EndTime)}, field{"Time limit", orEmpty(n.TimeLimit)})...)
			})
		}),
	}
}
