// Package results has the commands about the results of jobs and what they wrote.
package results

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about results.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupAnalysis, "results", "Show how attempts have ended",
		newList(a),
		newGet(a),
		newDelete(a),
	)
}

// resultColumns returns the columns of a list of results.
func resultColumns(allRuns bool) cli.List[api.Result] {
	columns := []cli.Column[api.Result]{
		{Title: "ID", Cell: func(r api.Result) string { return cli.OrEmpty(r.ID) }},
		{Title: "Job ID", Cell: func(r api.Result) string { return fmt.Sprint(r.JobID) }},
		{Title: "Job Name", Cell: func(r api.Result) string { return cli.OrEmpty(r.JobName) }},
		{Title: "WF ID", Cell: func(r api.Result) string { return fmt.Sprint(r.WorkflowID) }, Only: cli.FormatCSV},
	}
	run := cli.Column[api.Result]{Title: "Run ID", Cell: func(r api.Result) string { return fmt.Sprint(r.RunID) }}
	attempt := cli.Column[api.Result]{Title: "Attempt", Cell: func(r api.Result) string { return cli.OrEmpty(r.AttemptID) }, Only: cli.FormatCSV}
	if allRuns {
		columns = append(columns, run)
		attempt.Only = "" // otherwise the rows of one job could not be told apart
	}
	return cli.List[api.Result]{Things: "results", Columns: append(columns,
		attempt,
		cli.Column[api.Result]{Title: "Return Code", Cell: func(r api.Result) string { return fmt.Sprint(r.ReturnCode) }},
		cli.Column[api.Result]{Title: "Exec Time", Cell: func(r api.Result) string { return execTime(r.ExecTimeMinutes) }},
		cli.Column[api.Result]{Title: "Peak Mem", Cell: func(r api.Result) string { return cli.BytesText(r.PeakMemoryBytes) }},
		cli.Column[api.Result]{Title: "Peak CPU %", Cell: func(r api.Result) string { return numberText(r.PeakCPUPercent) }},
		cli.Column[api.Result]{Title: "Completion Time", Cell: func(r api.Result) string { return r.CompletionTime }},
		cli.Column[api.Result]{Title: "Status", Cell: func(r api.Result) string { return r.Status.String() }},
		cli.Column[api.Result]{Title: "Cause", Cell: func(r api.Result) string { return cli.OrEmpty(r.Cause) }, Only: cli.FormatCSV},
		cli.Column[api.Result]{Title: "Cause Text", Cell: func(r api.Result) string { return cli.OrEmpty(r.CauseText) }, Only: cli.FormatCSV},
		cli.Column[api.Result]{Title: "Cause", Cell: resultCause, Only: cli.FormatTable},
	)}
}

// resultCause returns the cause; for a canceled job the text that names the other job.
func resultCause(r api.Result) string {
	if r.Status == workflow.Canceled {
		return cli.FirstOf(cli.OrEmpty(r.CauseText), cli.OrEmpty(r.Cause))
	}
	return cli.OrEmpty(r.Cause)
}

// resultSortable are the fields that results can be sorted by.
var resultSortable = []string{"job_id", "run_id", "attempt_id", "compute_node_id", "return_code", "exec_time_minutes",
	"completion_time", "status", "peak_memory_bytes", "avg_memory_bytes", "peak_cpu_percent", "avg_cpu_percent"}

func execTime(m float64) string {
	return workflow.FormatDuration(time.Duration(m * float64(time.Minute)))
}

func numberText(n *float64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", *n)
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get RESULT",
		Short:       "Show a result",
		Example:     `  torc-slurm results get 31`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("result", func(ctx context.Context, c *cli.Connection, id int64) error {
			r, err := c.Results.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(r, func(w io.Writer) {
				fields := []cli.Field{{"Workflow", fmt.Sprint(r.WorkflowID)}, {"Compute node", fmt.Sprint(r.ComputeNodeID)}}
				for _, column := range resultColumns(true).Columns {
					if column.Only == "" || column.Only == cli.FormatTable {
						fields = append(fields, cli.Field{column.Title, column.Cell(*r)})
					}
				}
				cli.WriteFields(w, append(fields, cli.Field{"Average Mem", cli.BytesText(r.AvgMemoryBytes)}, cli.Field{"Average CPU %", numberText(r.AvgCPUPercent)})...)
			})
		}),
	}
}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "delete RESULT",
		Short:       "Delete a result",
		Long:        `Delete a result. The attempt itself stays: "why" still shows it.`,
		Example:     `  torc-slurm results delete 31`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("result", func(ctx context.Context, c *cli.Connection, id int64) error {
			r, err := c.Results.Delete(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(r, "Deleted result %d", id)
		}),
	}
}
