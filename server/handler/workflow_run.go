package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// workflowRuns handles requests about runs of workflows.
type workflowRuns struct{ *Deps }

// These routes start, repeat and end the runs of a workflow.
func (h workflowRuns) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("PUT", "/workflows/{id}/cancel", "Cancel a workflow", h.cancelWorkflow),
		rest.Handle("GET", "/workflows/{id}/cancellation", "Show what a cancellation would end, and how much work would be lost", h.proposeCancel),
		rest.Handle("POST", "/workflows/{id}/reset_status", "Start a new run: the run id grows by one", h.resetWorkflowStatus),
		rest.Handle("POST", "/workflows/{id}/initialize_jobs", "Make the jobs ready or blocked", h.initializeJobs, rest.Conflict409,
			rest.Answers(http.StatusOK, api.Message{}), rest.Answers(http.StatusAccepted, api.Task{})),
		rest.Handle("POST", "/workflows/{id}/reset_job_status", "Make jobs uninitialized", h.resetJobStatus),
		rest.Handle("POST", "/workflows/{id}/process_changed_job_inputs", "Make jobs whose inputs have changed uninitialized", h.processChangedInputs),
	}
}

func (h workflowRuns) cancelWorkflow(r *rest.Request[IDParams, rest.None]) (api.Workflow, error) {
	w, err := h.verbs().Cancel(r.Context(), r.Params.ID)
	return fromWorkflow(w), err
}

func (h workflowRuns) proposeCancel(r *rest.Request[IDParams, rest.None]) (api.CancellationProposal, error) {
	return h.verbs().ProposeCancel(r.Context(), r.Params.ID)
}

type resetStatusParams struct {
	IDParams
	Force         *bool  `query:"force" doc:"also while jobs or allocations are live"`
	ExpectedRunID *int64 `query:"expected_run_id" doc:"rejected unless the workflow is at this run. So one of several callers that saw the same run starts the next"`
}

func (h workflowRuns) resetWorkflowStatus(r *rest.Request[resetStatusParams, rest.None]) (api.Workflow, error) {
	p := r.Params
	if p.ExpectedRunID != nil {
		w, err := h.Store.Workflows.ResetAt(r.Context(), p.ID, *p.ExpectedRunID, Or(p.Force, false), r.User())
		return fromWorkflow(w), err
	}
	w, err := h.Store.Workflows.Reset(r.Context(), p.ID, Or(p.Force, false), r.User())
	return fromWorkflow(w), err
}

type resetJobsParams struct {
	IDParams
	FailedOnly *bool `query:"failed_only" doc:"only unsuccessful and held jobs, and their dependents"`
}

func (h workflowRuns) resetJobStatus(r *rest.Request[resetJobsParams, rest.None]) (api.ResetJobStatus, error) {
	failedOnly := Or(r.Params.FailedOnly, false)
	n, err := h.Store.Workflows.ResetJobs(r.Context(), r.Params.ID, failedOnly, r.User())
	kind := "all"
	if failedOnly {
		kind = "failed_only"
	}
	return api.ResetJobStatus{WorkflowID: r.Params.ID, UpdatedCount: n, Status: workflow.Uninitialized, ResetType: &kind}, err
}

type changedInputsParams struct {
	IDParams
	DryRun *bool `query:"dry_run" doc:"only name the jobs"`
}

func (h workflowRuns) processChangedInputs(r *rest.Request[changedInputsParams, rest.None]) (api.ChangedInputs, error) {
	names, err := h.Store.Workflows.ProcessChangedInputs(r.Context(), r.Params.ID, Or(r.Params.DryRun, false), r.User())
	return api.ChangedInputs{ReinitializedJobs: NotNil(names)}, err
}

type initializeParams struct {
	IDParams
	OnlyUninitialized *bool  `query:"only_uninitialized" doc:"leave other jobs as they are"`
	ClearEphemeral    *bool  `query:"clear_ephemeral_user_data" doc:"accepted without effect, as in torc"`
	Async             *bool  `query:"async" doc:"answer 202 with a task at once"`
	ExpectedRunID     *int64 `query:"expected_run_id" doc:"rejected unless the workflow is at this run and its jobs wait to be initialized: all that are not disabled, with only_uninitialized some"`
}

// initializeJobs answers with a message, or, asynchronously, with a task.
func (h workflowRuns) initializeJobs(r *rest.Request[initializeParams, rest.None]) (any, error) {
	id := r.Params.ID
	options := store.InitializeOptions{OnlyUninitialized: Or(r.Params.OnlyUninitialized, false), User: r.User(), Begin: r.Params.ExpectedRunID}
	if !Or(r.Params.Async, false) {
		err := h.Store.Workflows.Initialize(r.Context(), id, options)
		return api.Message{Message: "Initialized job status"}, err
	}
	parameters := fmt.Sprintf("only_uninitialized=%t", options.OnlyUninitialized)
	if options.Begin != nil {
		parameters += fmt.Sprintf(",expected_run_id=%d", *options.Begin)
	}
	t, isNew, err := h.Store.Tasks.Queue(r.Context(), id, workflow.OperationInitializeJobs, parameters)
	var conflict *store.TaskConflictError
	switch {
	case errors.As(err, &conflict):
		return nil, &rest.HTTPError{Status: http.StatusConflict, Detail: api.ErrorDetail{
			Error: api.KindConflict, Message: conflict.Error(),
			ExistingTaskID: &conflict.Task.ID, ExistingOperation: conflict.Task.Operation,
		}}
	case err != nil:
		return nil, err
	}
	h.Barrier.wait(r.Context())
	if isNew {
		h.runTask(t, options.User, func(ctx context.Context) error { return h.Store.Workflows.Initialize(ctx, id, options) })
	}
	r.Status = http.StatusAccepted
	return t, nil
}
