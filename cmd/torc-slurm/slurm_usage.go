package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// usageReport is what slurm usage says in JSON: the nodes and CPUs that a
// workflow's allocations had, and for how long.
type usageReport struct {
	WorkflowID           int64    `json:"workflow_id"`
	TotalSlurmJobs       int      `json:"total_slurm_jobs"`
	TotalNodes           int      `json:"total_nodes"`
	TotalNodeTime        string   `json:"total_node_time"`
	TotalNodeTimeSeconds int64    `json:"total_node_time_seconds"`
	TotalCPUTime         string   `json:"total_cpu_time"`
	TotalCPUTimeSeconds  int64    `json:"total_cpu_time_seconds"`
	Errors               []string `json:"errors"`
	UnknownNodeCount     int      `json:"unknown_node_count_allocations,omitempty"`
}

func newSlurmUsageCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "usage [WORKFLOW]",
		Short: "Sum up the node and CPU time of a workflow's allocations",
		Long: `Sum up for how long the allocations of a workflow had nodes and CPUs, used or not,
as Slurm's accounting has it: what a site charges.`,
		Example:           `  torc-slurm slurm usage 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			accounts, err := a.accounting(ctx, c, id)
			if err != nil {
				return err
			}
			u := accounts.usage()
			return a.showRecord(u, func(w io.Writer) {
				writeFields(w, field{"Workflow", fmt.Sprint(u.WorkflowID)}, field{"Slurm jobs", fmt.Sprint(u.TotalSlurmJobs)},
					field{"Nodes", fmt.Sprint(u.TotalNodes)}, field{"Node time", u.TotalNodeTime}, field{"CPU time", u.TotalCPUTime},
					field{"Not known", strings.Join(u.Errors, "\n")})
			})
		}),
	}
}

// usage sums up all lives of the Slurm jobs.
func (s *accounts) usage() usageReport {
	u := usageReport{WorkflowID: s.workflowID, TotalSlurmJobs: len(s.jobs), Errors: s.unknown()}
	var nodeTime, cpuTime time.Duration
	for _, id := range s.jobs {
		nodes := 0
		for _, life := range s.look.Lives(id) {
			switch {
			case !life.Started():
				continue
			case life.Nodes == 0:
				u.UnknownNodeCount++
			}
			nodes = max(nodes, life.Nodes)
			nodeTime += life.Elapsed * time.Duration(life.Nodes)
			cpuTime += life.Elapsed * time.Duration(life.CPUs)
		}
		u.TotalNodes += nodes
	}
	u.TotalNodeTime, u.TotalNodeTimeSeconds = slurm.FormatDuration(nodeTime), int64(nodeTime/time.Second)
	u.TotalCPUTime, u.TotalCPUTimeSeconds = slurm.FormatDuration(cpuTime), int64(cpuTime/time.Second)
	return u
}
