package results

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// resultWithLogs is a result with the paths of its log files.
type resultWithLogs struct {
	JobID           int64              `json:"job_id"`
	JobName         string             `json:"job_name"`
	Status          workflow.JobStatus `json:"status"`
	RunID           int64              `json:"run_id"`
	AttemptID       int64              `json:"attempt_id"`
	ReturnCode      int64              `json:"return_code"`
	CompletionTime  string             `json:"completion_time"`
	ExecTimeMinutes float64            `json:"exec_time_minutes"`
	ComputeNodeID   int64              `json:"compute_node_id"`
	Cause           string             `json:"cause,omitempty"`
	JobStdout       string             `json:"job_stdout,omitempty"`
	JobStderr       string             `json:"job_stderr,omitempty"`
	ComputeNodeType string             `json:"compute_node_type,omitempty"`
	JobRunnerLog    string             `json:"job_runner_log,omitempty"`
}

// resultsReport is the output of results list --include-logs.
type resultsReport struct {
	WorkflowID   int64            `json:"workflow_id"`
	WorkflowName string           `json:"workflow_name"`
	WorkflowUser string           `json:"workflow_user"`
	AllRuns      bool             `json:"all_runs"`
	TotalResults int              `json:"total_results"`
	Items        []resultWithLogs `json:"items"`
}

// showResultLogs writes the results that filter selected, with their log files, as JSON.
func showResultLogs(ctx context.Context, a *cli.Factory, c *cli.Connection, filter client.ResultFilter, results []api.Result, outputDir string) error {
	if a.Flags.Format == cli.FormatCSV {
		return cli.UsageErrorf("results with logs are written as JSON only")
	}
	w, err := c.Workflows.Get(ctx, filter.WorkflowID)
	if err != nil {
		return err
	}
	nodes := make(map[int64]api.ComputeNode)
	for n, err := range c.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: filter.WorkflowID}) {
		if err != nil {
			return err
		}
		nodes[cli.OrZero(n.ID)] = n
	}
	report := resultsReport{
		WorkflowID: filter.WorkflowID, WorkflowName: w.Name, WorkflowUser: w.User, AllRuns: filter.AllRuns,
		TotalResults: len(results), Items: make([]resultWithLogs, 0, len(results)),
	}
	dirs, err := outputdir.List(ctx, a, c, outputDir)
	if err != nil {
		return err
	}
	for _, r := range results {
		report.Items = append(report.Items, withLogs(dirs, r, nodes[r.ComputeNodeID]))
	}
	return a.WriteJSON(report)
}

// withLogs returns a result with its existing log files.
func withLogs(dirs []string, r api.Result, node api.ComputeNode) resultWithLogs {
	attempt := max(1, cli.OrZero(r.AttemptID))
	out := resultWithLogs{
		JobID: r.JobID, JobName: cli.OrEmpty(r.JobName), Status: r.Status, RunID: r.RunID, AttemptID: attempt, ReturnCode: r.ReturnCode,
		CompletionTime: r.CompletionTime, ExecTimeMinutes: r.ExecTimeMinutes, ComputeNodeID: r.ComputeNodeID,
		ComputeNodeType: node.ComputeNodeType, Cause: cli.OrEmpty(r.Cause),
		JobRunnerLog: existing(dirs, func(dir string) string {
			return filepath.Join(dir, fmt.Sprintf("job_runner_%s_wf%d_r%d.log", node.Hostname, r.WorkflowID, r.RunID))
		}),
	}
	log := func(ending string) string {
		return existing(dirs, func(dir string) string {
			return output.LogPath(dir, r.WorkflowID, r.JobID, r.RunID, attempt, ending)
		})
	}
	both := log(".log")
	out.JobStdout, out.JobStderr = cli.FirstOf(log(".o"), both), cli.FirstOf(log(".e"), both)
	return out
}

// existing returns the first existing path in the directories; empty if there is none.
func existing(dirs []string, path func(dir string) string) string {
	for _, dir := range dirs {
		if _, err := os.Stat(path(dir)); err == nil {
			return path(dir)
		}
	}
	return ""
}
