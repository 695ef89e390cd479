package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// UserDataFilter selects user data; nil and empty fields do not filter.
type UserDataFilter struct {
	Page
	WorkflowID    int64
	ConsumerJobID *int64
	ProducerJobID *int64
	Name          string // a part of it, in any case
	IsEphemeral   *bool
}

// List lists the user data of a workflow.
func (c UserData) List(ctx context.Context, f UserDataFilter) iter.Seq2[api.UserData, error] {
	return pages[api.UserData](ctx, c, "/user_data", f.Page, values("workflow_id", f.WorkflowID, "consumer_job_id", f.ConsumerJobID, "producer_job_id", f.ProducerJobID, "name", f.Name, "is_ephemeral", f.IsEphemeral))
}

// Get returns a user data record.
func (c UserData) Get(ctx context.Context, id int64) (*api.UserData, error) {
	return get[api.UserData](ctx, c, "/user_data/%d", id)
}

// Update changes a user data record and returns it.
func (c UserData) Update(ctx context.Context, id int64, v *api.UserData) (*api.UserData, error) {
	return call[api.UserData](ctx, c, http.MethodPut, fmt.Sprintf("/user_data/%d", id), v)
}

// Delete removes a user data record and returns it.
func (c UserData) Delete(ctx context.Context, id int64) (*api.UserData, error) {
	return call[api.UserData](ctx, c, http.MethodDelete, fmt.Sprintf("/user_data/%d", id), nil)
}

// Add adds a user data record with the job that reads it and the job that writes it; nil
// for none.
func (c UserData) Add(ctx context.Context, v *api.UserData, consumerJobID, producerJobID *int64) (*api.UserData, error) {
	query := values("consumer_job_id", consumerJobID, "producer_job_id", producerJobID)
	return call[api.UserData](ctx, c, http.MethodPost, "/user_data"+encode(query), v)
}

// DeleteAll removes all user data of a workflow.
func (c UserData) DeleteAll(ctx context.Context, workflowID int64) (*api.DeletedUserData, error) {
	return call[api.DeletedUserData](ctx, c, http.MethodDelete, fmt.Sprintf("/user_data?workflow_id=%d", workflowID), nil)
}

// Missing returns the ids of the user data of a workflow that jobs read and that has no
// value.
func (c UserData) Missing(ctx context.Context, workflowID int64) ([]int64, error) {
	out, err := get[api.MissingUserData](ctx, c, "/workflows/%d/missing_user_data", workflowID)
	if err != nil {
		return nil, err
	}
	return out.UserData, nil
}
