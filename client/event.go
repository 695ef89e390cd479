package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
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

// Audit lists who changed what, the latest first.
func (c Events) Audit(ctx context.Context, f audit.Filter) ([]audit.Entry, error) {
	query := values("user", f.User, "door", string(f.Door))
	for key, n := range map[string]int64{"workflow_id": f.WorkflowID, "since_ms": f.SinceMS, "limit": f.Limit} {
		if n != 0 {
			query.Set(key, fmt.Sprint(n))
		}
	}
	if f.Rules {
		query.Set("rules", "true")
	}
	out, err := call[api.AuditList](ctx, c, http.MethodGet, "/audit?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return out.Entries, nil
}
