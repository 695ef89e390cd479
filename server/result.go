package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) resultRoutes() []route {
	return []route{
		handle("POST", "/results", "Create a result and make it the job's current one", s.createResult),
		handle("GET", "/results", "List the results of a workflow", s.listResults),
		handle("GET", "/results/{id}", "Get a result", s.getResult),
		handle("PUT", "/results/{id}", "Change a result", s.updateResult),
		handle("DELETE", "/results/{id}", "Delete a result", s.deleteResult),
		handle("DELETE", "/results", "Delete the results of a workflow", s.deleteResults),
	}
}

func toResult(r api.Result) workflow.Result {
	return workflow.Result{
		ID: or(r.ID, 0), JobID: r.JobID, WorkflowID: r.WorkflowID, RunID: r.RunID, AttemptID: or(r.AttemptID, 1),
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

func (s *Server) createResult(r *request[none, api.Result]) (api.Result, error) {
	created, err := s.Store.CreateResult(r.Context(), toResult(r.Body))
	return fromResult(created), err
}

type resultListParams struct {
	workflowPageParams
	JobID         *int64              `query:"job_id"`
	RunID         *int64              `query:"run_id"`
	ReturnCode    *int64              `query:"return_code"`
	Status        *workflow.JobStatus `query:"status"`
	ComputeNodeID *int64              `query:"compute_node_id"`
	AllRuns       *bool               `query:"all_runs" doc:"not only the current result of each job"`
	Attempts      *bool               `query:"attempts" doc:"also attempts without a result, which have no id"`
}

func (s *Server) listResults(r *request[resultListParams, none]) (api.Page[api.Result], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.Result]{}, err
	}
	p := &r.Params
	results, total, err := s.Store.Results(r.Context(), store.ResultFilter{
		WorkflowID: p.WorkflowID, JobID: p.JobID, RunID: p.RunID, ReturnCode: p.ReturnCode, Status: p.Status,
		ComputeNodeID: p.ComputeNodeID, AllRuns: or(p.AllRuns, false), Attempts: or(p.Attempts, false),
	}, page)
	return pageOf(page, results, total, fromResult), err
}

func (s *Server) getResult(r *request[idParams, none]) (api.Result, error) {
	result, err := s.Store.Result(r.Context(), r.Params.ID)
	return fromResult(result), err
}

func (s *Server) updateResult(r *request[idParams, api.Result]) (api.Result, error) {
	result := toResult(r.Body)
	result.ID = r.Params.ID
	result, err := s.Store.UpdateResult(r.Context(), result)
	return fromResult(result), err
}

func (s *Server) deleteResult(r *request[idParams, none]) (api.Result, error) {
	result, err := s.Store.DeleteResult(r.Context(), r.Params.ID)
	return fromResult(result), err
}

func (s *Server) deleteResults(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteResults(r.Context(), r.Params.WorkflowID)
	return api.DeleteCount{Count: n}, err
}
