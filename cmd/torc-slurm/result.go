package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newResultsCommand groups the commands about results.
func newResultsCommand(a *app) *cobra.Command {
	return newGroup(a, groupAnalysis, "results", "How attempts have ended",
		newResultsListCommand(a),
		newResultsGetCommand(a),
		newResultsDeleteCommand(a),
	)
}

// resultColumns are those of a list of results.
func resultColumns(allRuns bool) list[api.Result] {
	columns := []column[api.Result]{
		{title: "ID", cell: func(r api.Result) string { return orEmpty(r.ID) }},
		{title: "Job ID", cell: func(r api.Result) string { return fmt.Sprint(r.JobID) }},
		{title: "Job Name", cell: func(r api.Result) string { return orEmpty(r.JobName) }},
		{title: "WF ID", cell: func(r api.Result) string { return fmt.Sprint(r.WorkflowID) }, only: formatCSV},
	}
	run := column[api.Result]{title: "Run ID", cell: func(r api.Result) string { return fmt.Sprint(r.RunID) }}
	attempt := column[api.Result]{title: "Attempt", cell: func(r api.Result) string { return orEmpty(r.AttemptID) }, only: formatCSV}
	if allRuns {
		columns = append(columns, run)
		attempt.only = "" // otherwise the rows of one job could not be told apart
	}
	return list[api.Result]{things: "results", columns: append(columns,
		attempt,
		column[api.Result]{title: "Return Code", cell: func(r api.Result) string { return fmt.Sprint(r.ReturnCode) }},
		column[api.Result]{title: "Exec Time", cell: func(r api.Result) string { return execTime(r.ExecTimeMinutes) }},
		column[api.Result]{title: "Peak Mem", cell: func(r api.Result) string { return bytesText(r.PeakMemoryBytes) }},
		column[api.Result]{title: "Peak CPU %", cell: func(r api.Result) string { return numberText(r.PeakCPUPercent) }},
		column[api.Result]{title: "Completion Time", cell: func(r api.Result) string { return r.CompletionTime }},
		column[api.Result]{title: "Status", cell: func(r api.Result) string { return r.Status.String() }},
		column[api.Result]{title: "Cause", cell: func(r api.Result) string { return orEmpty(r.Cause) }, only: formatCSV},
		column[api.Result]{title: "Cause Text", cell: func(r api.Result) string { return orEmpty(r.CauseText) }, only: formatCSV},
		column[api.Result]{title: "Cause", cell: resultCause, only: formatTable},
	)}
}

// resultCause names the cause; of a canceled job it says because of which other one.
func resultCause(r api.Result) string {
	if r.Status == workflow.Canceled {
		return firstOf(orEmpty(r.CauseText), orEmpty(r.Cause))
	}
	return orEmpty(r.Cause)
}

// resultSortable are the fields that results can be sorted by.
var resultSortable = []string{"job_id", "run_id", "attempt_id", "compute_node_id", "return_code", "exec_time_minutes",
	"completion_time", "status", "peak_memory_bytes", "avg_memory_bytes", "peak_cpu_percent", "avg_cpu_percent"}

func execTime(m float64) string {
	return workflow.FormatDuration(time.Duration(m * float64(time.Minute)))
}

func bytesText(n *int64) string {
	if n == nil {
		return ""
	}
	return workflow.FormatBytes(*n)
}

func numberText(n *float64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", *n)
}

func newResultsGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get RESULT",
		Short:       "Show a result",
		Example:     `  torc-slurm results get 31`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("result", func(ctx context.Context, c *connection, id int64) error {
			r, err := c.Result(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(r, func(w io.Writer) {
				fields := []field{{"Workflow", fmt.Sprint(r.WorkflowID)}, {"Compute node", fmt.Sprint(r.ComputeNodeID)}}
				for _, column := range resultColumns(true).columns {
					if column.only == "" || column.only == formatTable {
						fields = append(fields, field{column.title, column.cell(*r)})
					}
				}
				writeFields(w, append(fields, field{"Average Mem", bytesText(r.AvgMemoryBytes)}, field{"Average CPU %", numberText(r.AvgCPUPercent)})...)
			})
		}),
	}
}

func newResultsDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "delete RESULT",
		Short:       "Delete a result",
		Long:        `Delete a result. The attempt itself stays: "why" still shows it.`,
		Example:     `  torc-slurm results delete 31`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("result", func(ctx context.Context, c *connection, id int64) error {
			r, err := c.DeleteResult(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(r, "Deleted result %d", id)
		}),
	}
}
