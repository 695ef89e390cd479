package record

import (
	"context"
	"encoding/json"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

const eventColumns = `id, workflow_id, seq, timestamp_ms, type, severity, data`

func scanEvent(r sqlite.Scanner) (e event.Event, err error) {
	var severity int
	var data string
	err = r.Scan(&e.ID, &e.WorkflowID, &e.Seq, &e.TimestampMS, &e.Type, &severity, &data)
	e.Severity, e.Data = event.SeverityOf(severity), json.RawMessage(data)
	return e, err
}

// userEvent is the type of events that clients write.
const userEvent = "user"

// Create appends a client's event, with any JSON value as data.
func (s Events) Create(_ context.Context, workflowID int64, data json.RawMessage) (event.Event, error) {
	var created event.Event
	err := s.shared.Do("create event", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		if err := tx.Event(workflowID, userEvent, event.SeverityInfo, data); err != nil {
			return err
		}
		if err := tx.FlushEvents(); err != nil {
			return err
		}
		created, err = core.GetOne(tx, "event", workflowID,
			`SELECT `+eventColumns+` FROM event WHERE workflow_id = ? ORDER BY seq DESC LIMIT 1`, scanEvent)
		return err
	})
	return created, err
}

// Get returns an event; CodeNotFound if there is none, or it was deleted.
func (s Events) Get(ctx context.Context, id int64) (event.Event, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "event", id, `SELECT `+eventColumns+` FROM event WHERE id = ? AND is_deleted = 0`, scanEvent)
}

// EventFilter selects events of a workflow. Nil fields match all.
type EventFilter struct {
	WorkflowID int64
	Category   *string // data.category
	AfterMS    *int64  // later than this time
}

// List returns a page of the events of a workflow that were not deleted, and how many match
// in all.
func (s Events) List(ctx context.Context, q EventFilter, page sqlite.Page) ([]event.Event, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ? AND is_deleted = 0`, q.WorkflowID)
	if q.Category != nil {
		f.Add(`json_extract(data, '$.category') = ?`, *q.Category)
	}
	if q.AfterMS != nil {
		f.Add(`timestamp_ms > ?`, *q.AfterMS)
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: eventColumns, From: "event", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{"workflow_id": "workflow_id", "timestamp": "timestamp_ms", "data": "data", "seq": "seq"},
	}, scanEvent)
}

// LastSeq returns the seq of a workflow's last event; 0 if there is none.
func (s Events) LastSeq(ctx context.Context, workflowID int64) (seq int64, err error) {
	err = s.shared.DB.Read.QueryRowContext(ctx, `SELECT event_seq FROM workflow WHERE id = ? AND is_hidden = 0`, workflowID).Scan(&seq)
	return seq, view.OrNotFound(err, "workflow", workflowID)
}

// After returns at most limit events of a workflow with a seq greater than after, by seq.
// Deleted ones are included, with null as data.
func (s Events) After(ctx context.Context, workflowID, after, limit int64) ([]event.Event, error) {
	events, err := sqlite.SelectContext(ctx, s.shared.DB.Read, scanEvent, `SELECT `+eventColumns+` FROM event WHERE workflow_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
		workflowID, after, limit)
	return events, sqlite.Wrap(err, "read the events of workflow %d after %d", workflowID, after)
}

// Update replaces an event's data. Its seq, time and type do not change. It returns
// CodeConflict for the event of a user's change, which is part of the audit.
func (s Events) Update(_ context.Context, id int64, data json.RawMessage) (event.Event, error) {
	var updated event.Event
	err := s.shared.Do("update event", func(tx *core.Tx) (err error) {
		if updated, err = getEvent(tx, id); err != nil {
			return err
		}
		if updated.Type == workflow.EventUserAction {
			return workflow.Errorf(workflow.CodeConflict, "event %d says who changed the workflow and cannot be changed", id)
		}
		updated.Data = data
		return tx.ExecOne(`UPDATE event SET data = ? WHERE id = ?`, string(data), id)
	})
	return updated, err
}

// Delete removes an event's data and hides the event from lists. The row stays, so that the
// log has no gap. The audit keeps the data of events of users' changes.
func (s Events) Delete(_ context.Context, id int64) (event.Event, error) {
	var deleted event.Event
	err := s.shared.Do("delete event", func(tx *core.Tx) (err error) {
		if deleted, err = getEvent(tx, id); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE event SET data = iif(type = 'user_action', data, 'null'), is_deleted = 1 WHERE id = ?`, id)
	})
	return deleted, err
}

// DeleteAll deletes all events of a workflow like Delete, and returns how many there were.
func (s Events) DeleteAll(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.shared.Do("delete events", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		n, err = tx.Exec(`UPDATE event SET data = iif(type = 'user_action', data, 'null'), is_deleted = 1 WHERE workflow_id = ? AND is_deleted = 0`, workflowID)
		return sqlite.Wrap(err, "delete the events of workflow %d", workflowID)
	})
	return n, err
}

func getEvent(tx *core.Tx, id int64) (event.Event, error) {
	return core.GetOne(tx, "event", id, `SELECT `+eventColumns+` FROM event WHERE id = ? AND is_deleted = 0`, scanEvent)
}
