package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// EventFilter selects events of a workflow; nil and empty fields select
// nothing.
type EventFilter struct {
	Page
	WorkflowID     int64
	Category       string // data.category
	AfterTimestamp *int64 // milliseconds since the epoch
}

// Events lists the events of a workflow.
func (c *Client) Events(ctx context.Context, f EventFilter) iter.Seq2[api.Event, error] {
	return pages[api.Event](ctx, c, "/events", f.Page,
		values("workflow_id", f.WorkflowID, "category", f.Category, "after_timestamp", f.AfterTimestamp))
}

// Event returns an event.
func (c *Client) Event(ctx context.Context, id int64) (*api.Event, error) {
	return get[api.Event](ctx, c, "/events/%d", id)
}

// CreateEvent appends an event to a workflow's log.
func (c *Client) CreateEvent(ctx context.Context, workflowID int64, data json.RawMessage) (*api.Event, error) {
	return call[api.Event](ctx, c, http.MethodPost, "/events", api.Event{WorkflowID: workflowID, Data: data})
}

// DeleteEvent removes the data of an event.
func (c *Client) DeleteEvent(ctx context.Context, id int64) (*api.Event, error) {
	return call[api.Event](ctx, c, http.MethodDelete, fmt.Sprintf("/events/%d", id), nil)
}
