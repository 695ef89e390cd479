package mcp

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) addResultTools() {
	add(s, tool{name: "list_results", title: "Results",
		description: "List how attempts of a workflow's jobs ended: return code, duration, cause, peak memory and CPU. By default the latest result of each job; with run_id all of that run."}, listResults)
}

type resultsIn struct {
	workflowIn
	pageIn
	JobID       *int64 `json:"job_id,omitempty" jsonschema:"only of this job"`
	RunID       *int64 `json:"run_id,omitempty" jsonschema:"only of this run"`
	ReturnCode  *int64 `json:"return_code,omitempty" jsonschema:"only with this return code"`
	FailedOnly  bool   `json:"failed_only,omitempty" jsonschema:"only those that did not succeed: status failed, or with status that one"`
	Status      string `json:"status,omitempty" jsonschema:"only with this status: completed, failed, canceled or terminated"`
	SortBy      string `json:"sort_by,omitempty" jsonschema:"a key of the results, such as return_code or exec_time_minutes; by default id"`
	ReverseSort bool   `json:"reverse_sort,omitempty"`
}

type resultRow struct {
	JobID           int64    `json:"job_id"`
	JobName         string   `json:"job_name"`
	RunID           int64    `json:"run_id"`
	AttemptID       int64    `json:"attempt_id"`
	Status          string   `json:"status"`
	ReturnCode      int64    `json:"return_code"`
	Cause           string   `json:"cause,omitempty"`
	ExecTimeMinutes float64  `json:"exec_time_minutes"`
	CompletionTime  string   `json:"completion_time"`
	PeakMemoryBytes *int64   `json:"peak_memory_bytes,omitempty"`
	PeakCPUPercent  *float64 `json:"peak_cpu_percent,omitempty"`
}

type resultsOut struct {
	WorkflowID int64       `json:"workflow_id"`
	Results    []resultRow `json:"results"`
	pageOut
}

func listResults(ctx context.Context, c *call, in resultsIn) (out resultsOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	page.SortBy, page.Reverse = in.SortBy, in.ReverseSort
	if in.FailedOnly && in.Status == "" {
		in.Status = workflow.Failed.String()
	}
	out.WorkflowID = in.WorkflowID
	out.Results, out.pageOut, err = collect(page, c.Results.List(ctx, client.ResultFilter{
		Page: page, WorkflowID: in.WorkflowID, JobID: in.JobID, RunID: in.RunID, ReturnCode: in.ReturnCode, Status: in.Status, AllRuns: in.RunID != nil,
	}), func(r api.Result) resultRow {
		return resultRow{
			JobID: r.JobID, JobName: value(r.JobName), RunID: r.RunID, AttemptID: max(1, value(r.AttemptID)), Status: r.Status.String(), ReturnCode: r.ReturnCode,
			Cause: value(r.Cause), ExecTimeMinutes: r.ExecTimeMinutes, CompletionTime: r.CompletionTime, PeakMemoryBytes: r.PeakMemoryBytes, PeakCPUPercent: r.PeakCPUPercent,
		}
	})
	return out, err
}
