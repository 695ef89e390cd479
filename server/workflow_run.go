package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// What begins, repeats and ends the runs of a workflow.
func (s *Server) workflowRunRoutes() []route {
	return []route{
		handle("PUT", "/workflows/{id}/cancel", "Cancel a workflow", s.cancelWorkflow),
		handle("POST", "/workflows/{id}/reset_status", "Begin a new run: the run id grows by one", s.resetWorkflowStatus),
		handle("POST", "/workflows/{id}/initialize_jobs", "Make the jobs ready or blocked", s.initializeJobs, conflict409,
			answers(http.StatusOK, api.Message{}), answers(http.StatusAccepted, api.Task{})),
		handle("POST", "/workflows/{id}/reset_job_status", "Make jobs uninitialized", s.resetJobStatus),
		handle("POST", "/workflows/{id}/process_changed_job_inputs", "Make jobs whose inputs have changed uninitialized", s.processChangedInputs),
	}
}

func (s *Server) cancelWorkflow(r *request[idParams, none]) (api.Workflow, error) {
	w, err := s.Store.CancelWorkflow(r.Context(), r.Params.ID)
	return fromWorkflow(w), err
}

type resetStatusParams struct {
	idParams
	Force         *bool  `query:"force" doc:"also while jobs or allocations are live"`
	ExpectedRunID *int64 `query:"expected_run_id" doc:"only if the workflow is at this run; else it is refused. Of several callers who saw the same run one begins the next"`
}

func (s *Server) resetWorkflowStatus(r *request[resetStatusParams, none]) (api.Workflow, error) {
	p := r.Params
	if p.ExpectedRunID != nil {
		w, err := s.Store.ResetStatusAt(r.Context(), p.ID, *p.ExpectedRunID, or(p.Force, false), r.user())
		return fromWorkflow(w), err
	}
	w, err := s.Store.ResetStatus(r.Context(), p.ID, or(p.Force, false), r.user())
	return fromWorkflow(w), err
}

type resetJobsParams struct {
	idParams
	FailedOnly *bool `query:"failed_only" doc:"only unsuccessful and held jobs, and those behind them"`
}

func (s *Server) resetJobStatus(r *request[resetJobsParams, none]) (api.ResetJobStatus, error) {
	failedOnly := or(r.Params.FailedOnly, false)
	n, err := s.Store.ResetJobStatus(r.Context(), r.Params.ID, failedOnly, r.user())
	kind := "all"
	if failedOnly {
		kind = "failed_only"
	}
	return api.ResetJobStatus{WorkflowID: r.Params.ID, UpdatedCount: n, Status: workflow.Uninitialized, ResetType: &kind}, err
}

type changedInputsParams struct {
	idParams
	DryRun *bool `query:"dry_run" doc:"only name the jobs"`
}

func (s *Server) processChangedInputs(r *request[changedInputsParams, none]) (api.ChangedInputs, error) {
	names, err := s.Store.ProcessChangedInputs(r.Context(), r.Params.ID, or(r.Params.DryRun, false), r.user())
	return api.ChangedInputs{ReinitializedJobs: notNil(names)}, err
}

type initializeParams struct {
	idParams
	OnlyUninitialized *bool  `query:"only_uninitialized" doc:"leave other jobs as they are"`
	ClearEphemeral    *bool  `query:"clear_ephemeral_user_data" doc:"accepted, and means nothing, as in torc"`
	Async             *bool  `query:"async" doc:"answer 202 with a task at once"`
	ExpectedRunID     *int64 `query:"expected_run_id" doc:"only if the workflow is at this run and its jobs wait to be initialized for it: all that are not disabled, with only_uninitialized some; else it is refused"`
}

// initializeJobs answers with a message, or, asynchronously, with a task.
func (s *Server) initializeJobs(r *request[initializeParams, none]) (any, error) {
	id := r.Params.ID
	options := store.InitializeOptions{OnlyUninitialized: or(r.Params.OnlyUninitialized, false), User: r.user(), Begin: r.Params.ExpectedRunID}
	if !or(r.Params.Async, false) {
		err := s.Store.Initialize(r.Context(), id, options)
		return api.Message{Message: "Initialized job status"}, err
	}
	parameters := fmt.Sprintf("only_uninitialized=%t", options.OnlyUninitialized)
	if options.Begin != nil {
		parameters += fmt.Sprintf(",expected_run_id=%d", *options.Begin)
	}
	t, isNew, err := s.Store.QueueTask(r.Context(), id, workflow.OperationInitializeJobs, parameters)
	var conflict *store.TaskConflictError
	switch {
	case errors.As(err, &conflict):
		return nil, &httpError{status: http.StatusConflict, detail: api.ErrorDetail{
			Error: api.KindConflict, Message: conflict.Error(),
			ExistingTaskID: &conflict.Task.ID, ExistingOperation: conflict.Task.Operation,
		}}
	case err != nil:
		return nil, err
	}
	s.barrier.wait(r.Context())
	if isNew {
		s.runTask(t, options.User, func(ctx context.Context) error { return s.Store.Initialize(ctx, id, options) })
	}
	r.Status = http.StatusAccepted
	return fromTask(t), nil
}
