package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// results handles requests about results.
type results struct{ *Deps }

func (h results) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/results", "Create a result and make it the job's current one", h.createResult),
		rest.Handle("GET", "/results", "List the results of a workflow", List(h.listResults, fromResult)),
		rest.Handle("GET", "/results/{id}", "Get a result", ByID(h.Store.Results.Get, fromResult)),
		rest.Handle("PUT", "/results/{id}", "Change a result", h.updateResult),
		rest.Handle("DELETE", "/results/{id}", "Delete a result", ByID(h.Store.Results.Delete, fromResult)),
		rest.Handle("DELETE", "/results", "Delete the results of a workflow", DeleteAll(h.Store.Results.DeleteAll)),
	}
}

// ToResult returns a result as the domain has it.
func ToResult(r api.Result) workflow.Result {
	return workflow.Result{
		ID: Or(r.ID, 0), JobID: r.JobID, WorkflowID: r.WorkflowID, RunID: r.RunID, AttemptID: Or(r.AttemptID, 1),
		ComputeNodeID: r.ComputeNodeID, ReturnCode: r.ReturnCode, ExecTimeMinutes: r.ExecTimeMinutes,
		CompletionTime: r.CompletionTime, Status: r.Status, PeakMemoryBytes: r.PeakMemoryBytes,
		AvgMemoryBytes: r.AvgMemoryBytes, PeakCPUPercent: r.PeakCPUPercent, AvgCPUPercent: r.AvgCPUPercent,
	}
}

func fromResult(r workflow.Result) api.Result {
	wire := api.Result{
		ID: &r.ID, JobID: r.JobID, WorkflowID: r.WorkflowID, RunID: r.RunID, AttemptID: &r.AttemptID,
		ComputeNodeID: r.ComputeNodeID, ReturnCode: r.ReturnCode, ExecTimeMinutes: r.ExecTimeMinutes,
		CompletionTime: r.CompletionTime, Status: r.Status, PeakMemoryBytes: r.PeakMemoryBytes,
		AvgMemoryBytes: r.AvgMemoryBytes, PeakCPUPercent: r.PeakCPUPercent, AvgCPUPercent: r.AvgCPUPercent,
		JobName: &r.JobName,
	}
	if r.Cause != "" {
		wire.Cause = &r.Cause
	}
	if r.CauseText != "" {
		wire.CauseText = &r.CauseText
	}
	if r.ID == 0 { // an attempt without a result
		wire.ID = nil
	}
	return wire
}

func (h results) createResult(r *rest.Request[rest.None, api.Result]) (api.Result, error) {
	created, err := h.Store.Results.Create(r.Context(), ToResult(r.Body))
	return fromResult(created), err
}

type resultListParams struct {
	WorkflowPageParams
	JobID         *int64              `query:"job_id"`
	RunID         *int64              `query:"run_id"`
	ReturnCode    *int64              `query:"return_code"`
	Status        *workflow.JobStatus `query:"status"`
	ComputeNodeID *int64              `query:"compute_node_id"`
	AllRuns       *bool               `query:"all_runs" doc:"not only the current result of each job"`
	Attempts      *bool               `query:"attempts" doc:"also attempts without a result, which have no id"`
}

func (h results) listResults(r *rest.Request[resultListParams, rest.None], page store.Page) ([]workflow.Result, int64, error) {
	p := &r.Params
	return h.Store.Results.List(r.Context(), store.ResultFilter{
		WorkflowID: p.WorkflowID, JobID: p.JobID, RunID: p.RunID, ReturnCode: p.ReturnCode, Status: p.Status,
		ComputeNodeID: p.ComputeNodeID, AllRuns: Or(p.AllRuns, false), Attempts: Or(p.Attempts, false),
	}, page)
}

func (h results) updateResult(r *rest.Request[IDParams, api.Result]) (api.Result, error) {
	result := ToResult(r.Body)
	result.ID = r.Params.ID
	result, err := h.Store.Results.Update(r.Context(), result)
	return fromResult(result), err
}
