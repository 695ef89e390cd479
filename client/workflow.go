package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// WorkflowFilter selects workflows; nil and empty fields do not filter.
type WorkflowFilter struct {
	Page
	Name        string // exactly
	User        string // exactly
	Description string // a part of it, in any case
	IsArchived  *bool
	AccessGroup string
	SpecPath    string // created from this file
}

// List lists workflows.
func (c Workflows) List(ctx context.Context, f WorkflowFilter) iter.Seq2[api.Workflow, error] {
	return pages[api.Workflow](ctx, c, "/workflows", f.Page, values("name", f.Name, "user", f.User,
		"description", f.Description, "is_archived", f.IsArchived, "access_group", f.AccessGroup, "spec_path", f.SpecPath))
}

// Get returns a workflow.
func (c Workflows) Get(ctx context.Context, id int64) (*api.Workflow, error) {
	return get[api.Workflow](ctx, c, "/workflows/%d", id)
}

// Create creates a workflow without jobs.
func (c Workflows) Create(ctx context.Context, w *api.Workflow) (*api.Workflow, error) {
	return call[api.Workflow](ctx, c, http.MethodPost, "/workflows", w)
}

// Update changes the given fields of a workflow.
func (c Workflows) Update(ctx context.Context, id int64, w *api.WorkflowUpdate) (*api.Workflow, error) {
	return call[api.Workflow](ctx, c, http.MethodPut, fmt.Sprintf("/workflows/%d", id), w)
}

// DeleteIdle removes a workflow with everything in it. It is a conflict while jobs, runners
// or allocations of it are active.
func (c Workflows) DeleteIdle(ctx context.Context, id int64) (*api.Workflow, error) {
	return call[api.Workflow](ctx, c, http.MethodDelete, fmt.Sprintf("/workflows/%d?if_idle=true", id), nil)
}

// Delete removes a workflow with everything in it, even while it is active.
func (c Workflows) Delete(ctx context.Context, id int64) (*api.Workflow, error) {
	return call[api.Workflow](ctx, c, http.MethodDelete, fmt.Sprintf("/workflows/%d", id), nil)
}

// Archive archives a workflow, or restores it from the archive.
func (c Workflows) Archive(ctx context.Context, id int64, archived bool) (*api.Workflow, error) {
	return call[api.Workflow](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/workflows/%d/archive", id), api.ArchiveRequest{IsArchived: archived})
}

// Cancel cancels a workflow.
func (c Workflows) Cancel(ctx context.Context, id int64) (*api.Workflow, error) {
	return call[api.Workflow](ctx, c, http.MethodPut, fmt.Sprintf("/workflows/%d/cancel", id), nil)
}

// ProposeCancel returns what Cancel would end, and how much work would be lost.
func (c Workflows) ProposeCancel(ctx context.Context, id int64) (*api.CancellationProposal, error) {
	return get[api.CancellationProposal](ctx, c, "/workflows/%d/cancellation", id)
}

// Status returns a summary of a workflow.
func (c Workflows) Status(ctx context.Context, id int64) (*api.WorkflowStatus, error) {
	return get[api.WorkflowStatus](ctx, c, "/workflows/%d/status", id)
}

// IsComplete returns whether a workflow has ended.
func (c Workflows) IsComplete(ctx context.Context, id int64) (*api.IsComplete, error) {
	return get[api.IsComplete](ctx, c, "/workflows/%d/is_complete", id)
}

// Initialize makes jobs ready or blocked: all that are not complete, or only the
// uninitialized ones and the jobs that depend on them.
func (c Workflows) Initialize(ctx context.Context, id int64, onlyUninitialized bool) error {
	path := fmt.Sprintf("/workflows/%d/initialize_jobs", id) + encode(values("only_uninitialized", onlyUninitialized))
	return c.do(ctx, http.MethodPost, path, nil, nil)
}

// StartInitialize is Initialize as a background task.
func (c Workflows) StartInitialize(ctx context.Context, id int64, onlyUninitialized bool) (*api.Task, error) {
	path := fmt.Sprintf("/workflows/%d/initialize_jobs", id) + encode(values("only_uninitialized", onlyUninitialized, "async", true))
	return call[api.Task](ctx, c, http.MethodPost, path, nil)
}
