package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// JobFilter selects jobs of a workflow; nil and empty fields do not filter.
type JobFilter struct {
	Page
	WorkflowID           int64
	Status               *workflow.JobStatus
	Name                 string // exactly
	Command              string // a part of it, in any case
	UpstreamJobID        *int64
	NeedsFileID          *int64
	ActiveComputeNodeID  *int64
	IncludeRelationships bool
}

// List lists jobs of a workflow.
func (c Jobs) List(ctx context.Context, f JobFilter) iter.Seq2[api.Job, error] {
	return pages[api.Job](ctx, c, "/jobs", f.Page, f.query())
}

// Count returns the number of jobs that a filter selects.
func (c Jobs) Count(ctx context.Context, f JobFilter) (int64, error) {
	page, err := get[api.Page[api.Job]](ctx, c, "%s", "/jobs"+f.Page.query(f.query(), 0, 1))
	if err != nil {
		return 0, err
	}
	return page.TotalCount, nil
}

func (f JobFilter) query() url.Values {
	status := ""
	if f.Status != nil {
		status = f.Status.String()
	}
	return values("workflow_id", f.WorkflowID, "status", status,
		"name", f.Name, "command", f.Command, "upstream_job_id", f.UpstreamJobID, "needs_file_id", f.NeedsFileID,
		"active_compute_node_id", f.ActiveComputeNodeID, "include_relationships", f.IncludeRelationships)
}

// Get returns a job with all its relations.
func (c Jobs) Get(ctx context.Context, id int64) (*api.Job, error) {
	return get[api.Job](ctx, c, "/jobs/%d", id)
}

// Create adds a job to a workflow.
func (c Jobs) Create(ctx context.Context, j *api.Job) (*api.Job, error) {
	return call[api.Job](ctx, c, http.MethodPost, "/jobs", j)
}

// CreateAll adds jobs to a workflow, all or nothing.
func (c Jobs) CreateAll(ctx context.Context, jobs []api.Job) ([]api.Job, error) {
	out, err := call[api.Jobs](ctx, c, http.MethodPost, "/bulk_jobs", api.Jobs{Jobs: jobs})
	if err != nil {
		return nil, err
	}
	return out.Jobs, nil
}

// Update changes the given fields of a job.
func (c Jobs) Update(ctx context.Context, id int64, j *api.Job) (*api.Job, error) {
	return call[api.Job](ctx, c, http.MethodPut, fmt.Sprintf("/jobs/%d", id), j)
}

// ClearLabels is Update, and removes all labels of the job.
func (c Jobs) ClearLabels(ctx context.Context, id int64, j *api.Job) (*api.Job, error) {
	body := struct {
		api.Job
		Labels []string `json:"labels"`
	}{*j, []string{}}
	return call[api.Job](ctx, c, http.MethodPut, fmt.Sprintf("/jobs/%d", id), body)
}

// Delete removes a job.
func (c Jobs) Delete(ctx context.Context, id int64) (*api.Job, error) {
	return call[api.Job](ctx, c, http.MethodDelete, fmt.Sprintf("/jobs/%d", id), nil)
}

// DeleteAll removes all jobs of a workflow and returns their number.
func (c Jobs) DeleteAll(ctx context.Context, workflowID int64) (int64, error) {
	out, err := call[api.DeleteCount](ctx, c, http.MethodDelete, fmt.Sprintf("/jobs?workflow_id=%d", workflowID), nil)
	if err != nil {
		return 0, err
	}
	return out.Count, nil
}

// ManageStatusChange sets the status of a job to one that is not terminal.
func (c Jobs) ManageStatusChange(ctx context.Context, id int64, status workflow.JobStatus, runID int64) (*api.Job, error) {
	return call[api.Job](ctx, c, http.MethodPut, fmt.Sprintf("/jobs/%d/manage_status_change/%s/%d", id, status, runID), nil)
}

// Retry makes a job ready again for another attempt, if it has had fewer
// than maxRetries.
func (c Jobs) Retry(ctx context.Context, id, runID, maxRetries int64) (*api.Job, error) {
	return call[api.Job](ctx, c, http.MethodPost, fmt.Sprintf("/jobs/%d/retry/%d?max_retries=%d", id, runID, maxRetries), nil)
}

// IDs returns the ids of a workflow's jobs.
func (c Jobs) IDs(ctx context.Context, workflowID int64) ([]int64, error) {
	out, err := get[api.JobIDs](ctx, c, "/workflows/%d/job_ids", workflowID)
	if err != nil {
		return nil, err
	}
	return out.JobIDs, nil
}

// Running lists the running jobs of a workflow with their nodes.
func (c Jobs) Running(ctx context.Context, workflowID int64, page Page) iter.Seq2[api.RunningJob, error] {
	return pages[api.RunningJob](ctx, c, fmt.Sprintf("/workflows/%d/running_jobs", workflowID), page, nil)
}

// Dependencies lists the dependencies between the jobs of a workflow.
func (c Jobs) Dependencies(ctx context.Context, workflowID int64, page Page) iter.Seq2[api.JobDependency, error] {
	return pages[api.JobDependency](ctx, c, fmt.Sprintf("/workflows/%d/job_dependencies", workflowID), page, nil)
}

// FileRelationships lists the files of a workflow with the jobs that write and read them.
func (c Jobs) FileRelationships(ctx context.Context, workflowID int64, page Page) iter.Seq2[api.JobFileRelationship, error] {
	return pages[api.JobFileRelationship](ctx, c, fmt.Sprintf("/workflows/%d/job_file_relationships", workflowID), page, nil)
}

// UserDataRelationships lists the user data of a workflow with the jobs that write and
// read them.
func (c Jobs) UserDataRelationships(ctx context.Context, workflowID int64, page Page) iter.Seq2[api.JobUserDataRelationship, error] {
	return pages[api.JobUserDataRelationship](ctx, c, fmt.Sprintf("/workflows/%d/job_user_data_relationships", workflowID), page, nil)
}
