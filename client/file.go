package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// FileFilter selects files; nil and empty fields do not filter.
type FileFilter struct {
	Page
	WorkflowID      int64
	ProducedByJobID *int64
	Name            string // exactly
	PathPart        string // a part of it, in any case
	IsOutput        bool   // only files that a job writes
}

// List lists the files of a workflow.
func (c Files) List(ctx context.Context, f FileFilter) iter.Seq2[api.File, error] {
	return pages[api.File](ctx, c, "/files", f.Page, values("workflow_id", f.WorkflowID, "produced_by_job_id", f.ProducedByJobID, "name", f.Name, "path", f.PathPart, "is_output", f.IsOutput))
}

// Get returns a file.
func (c Files) Get(ctx context.Context, id int64) (*api.File, error) {
	return get[api.File](ctx, c, "/files/%d", id)
}

// Create adds a file to a workflow and returns it with its id.
func (c Files) Create(ctx context.Context, v *api.File) (*api.File, error) {
	return call[api.File](ctx, c, http.MethodPost, "/files", v)
}

// Update changes a file and returns it.
func (c Files) Update(ctx context.Context, id int64, v *api.File) (*api.File, error) {
	return call[api.File](ctx, c, http.MethodPut, fmt.Sprintf("/files/%d", id), v)
}

// Delete removes a file and returns it.
func (c Files) Delete(ctx context.Context, id int64) (*api.File, error) {
	return call[api.File](ctx, c, http.MethodDelete, fmt.Sprintf("/files/%d", id), nil)
}

// RequiredExisting returns the ids of the files that must exist before the jobs of a
// workflow run.
func (c Files) RequiredExisting(ctx context.Context, workflowID int64) ([]int64, error) {
	out, err := get[api.RequiredFiles](ctx, c, "/workflows/%d/required_existing_files", workflowID)
	if err != nil {
		return nil, err
	}
	return out.Files, nil
}
