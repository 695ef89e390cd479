package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// ResourceRequirementsFilter selects resource requirements; nil and empty fields do not filter.
type ResourceRequirementsFilter struct {
	Page
	WorkflowID int64
	JobID      *int64
	Name       string // exactly
}

// List lists the resource requirements of a workflow.
func (c ResourceRequirements) List(ctx context.Context, f ResourceRequirementsFilter) iter.Seq2[api.ResourceRequirements, error] {
	return pages[api.ResourceRequirements](ctx, c, "/resource_requirements", f.Page, values("workflow_id", f.WorkflowID, "job_id", f.JobID, "name", f.Name))
}

// Get returns a set of resource requirements.
func (c ResourceRequirements) Get(ctx context.Context, id int64) (*api.ResourceRequirements, error) {
	return get[api.ResourceRequirements](ctx, c, "/resource_requirements/%d", id)
}

// Create adds a set of resource requirements to a workflow and returns it with its id.
func (c ResourceRequirements) Create(ctx context.Context, v *api.ResourceRequirements) (*api.ResourceRequirements, error) {
	return call[api.ResourceRequirements](ctx, c, http.MethodPost, "/resource_requirements", v)
}

// Update changes a set of resource requirements and returns it.
func (c ResourceRequirements) Update(ctx context.Context, id int64, v *api.ResourceRequirements) (*api.ResourceRequirements, error) {
	return call[api.ResourceRequirements](ctx, c, http.MethodPut, fmt.Sprintf("/resource_requirements/%d", id), v)
}

// Delete removes a set of resource requirements and returns it.
func (c ResourceRequirements) Delete(ctx context.Context, id int64) (*api.ResourceRequirements, error) {
	return call[api.ResourceRequirements](ctx, c, http.MethodDelete, fmt.Sprintf("/resource_requirements/%d", id), nil)
}
