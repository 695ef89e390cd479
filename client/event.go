package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// EventFilter selects events of a workflow; nil and empty fields do not filter.
type EventFilter struct {
	Page
	WorkflowID     int64
	Category       string // data.category
	AfterTimestamp *int64 // milliseconds since the epoch
}

// List lists the events of a workflow.
func (c Events) List(ctx context.Context, f EventFilter) iter.Seq2[api.Event, error] {
	return pages[api.Event](ctx, c, "/events", f.Page,
		values("workflow_id", f.WorkflowID, "category", f.Category, "after_timestamp", f.AfterTimestamp))
}

// Create appends an event to a workflow's log.
func (c Events) Create(ctx context.Context, workflowID int64, data json.RawMessage) (*api.Event, error) {
	return call[api.Event](ctx, c, http.MethodPost, "/events", api.Event{WorkflowID: workflowID, Data: data})
}

// Delete removes the data of an event.
func (c Events) Delete(ctx context.Context, id int64) (*api.Event, error) {
	return call[api.Event](ctx, c, http.MethodDelete, fmt.Sprintf("/events/%d", id), nil)
}
