package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const eventColumns = `id, workflow_id, seq, timestamp_ms, type, severity, data`

func scanEvent(r rowScanner) (e workflow.Event, err error) {
	var severity int
	var data string
	err = r.Scan(&e.ID, &e.WorkflowID, &e.Seq, &e.TimestampMS, &e.Type, &severity, &data)
	e.Severity, e.Data = workflow.SeverityOf(severity), json.RawMessage(data)
	return e, err
}

// userEvent is the type of events that clients write themselves.
const userEvent = "user"

// userAction notes that a user did something.
func (tx *Tx) userAction(workflowID int64, user, action string, details map[string]any) error {
	data := map[string]any{"category": workflow.CategoryUser, "action": action, "user": user, "workflow_id": workflowID}
	maps.Copy(data, details)
	return tx.event(workflowID, string(workflow.EventUserAction), workflow.SeverityInfo, data)
}

// CreateEvent appends an event of a client's own, with any JSON value as data.
func (s *Store) CreateEvent(_ context.Context, workflowID int64, data json.RawMessage) (workflow.Event, error) {
	var created workflow.Event
	err := s.writer.do("create event", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		if err := tx.event(workflowID, userEvent, workflow.SeverityInfo, data); err != nil {
			return err
		}
		if err := tx.flushEvents(); err != nil {
			return err
		}
		created, err = getOne(tx, "event", workflowID,
			`SELECT `+eventColumns+` FROM event WHERE workflow_id = ? ORDER BY seq DESC LIMIT 1`, scanEvent)
		return err
	})
	return created, err
}

// Event returns an event that was not deleted.
func (s *Store) Event(ctx context.Context, id int64) (workflow.Event, error) {
	return readOne(ctx, s.read, "event", id, `SELECT `+eventColumns+` FROM event WHERE id = ? AND is_deleted = 0`, scanEvent)
}

// EventFilter says which events of a workflow are wanted; nil fields do not
// matter.
type EventFilter struct {
	WorkflowID int64
	Category   *string // data.category
	AfterMS    *int64  // later than this time
}

// Events returns a page of the events of a workflow that were not deleted.
func (s *Store) Events(ctx context.Context, q EventFilter, page Page) ([]workflow.Event, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ? AND is_deleted = 0`, q.WorkflowID)
	if q.Category != nil {
		f.add(`json_extract(data, '$.category') = ?`, *q.Category)
	}
	if q.AfterMS != nil {
		f.add(`timestamp_ms > ?`, *q.AfterMS)
	}
	return readList(ctx, s.read, list{
		columns: eventColumns, from: "event", filter: f, id: "id", page: page,
		sortable: map[string]string{"workflow_id": "workflow_id", "timestamp": "timestamp_ms", "data": "data", "seq": "seq"},
	}, scanEvent)
}

// LastEventSeq returns the seq of a workflow's last event; 0 before the first.
func (s *Store) LastEventSeq(ctx context.Context, workflowID int64) (seq int64, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT event_seq FROM workflow WHERE id = ? AND is_hidden = 0`, workflowID).Scan(&seq)
	return seq, orNotFound(err, "workflow", workflowID)
}

// EventsAfter returns at most limit events of a workflow with a seq greater
// than after, by seq. Deleted ones are among them, with null as data.
func (s *Store) EventsAfter(ctx context.Context, workflowID, after, limit int64) ([]workflow.Event, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT `+eventColumns+` FROM event WHERE workflow_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
		workflowID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the events of workflow %d after %d: %w", workflowID, after, err)
	}
	events, err := collect(rows, scanEvent)
	if err != nil {
		return nil, fmt.Errorf("read the events of workflow %d after %d: %w", workflowID, after, err)
	}
	return events, nil
}

// UpdateEvent replaces an event's data. Its row, seq, time and type stay.
func (s *Store) UpdateEvent(_ context.Context, id int64, data json.RawMessage) (workflow.Event, error) {
	var updated workflow.Event
	err := s.writer.do("update event", func(tx *Tx) (err error) {
		if updated, err = getEvent(tx, id); err != nil {
			return err
		}
		updated.Data = data
		return tx.execOne(`UPDATE event SET data = ? WHERE id = ?`, string(data), id)
	})
	return updated, err
}

// DeleteEvent removes an event's data and hides it from lists. Its row and seq
// stay, so that the log has no gap.
func (s *Store) DeleteEvent(_ context.Context, id int64) (workflow.Event, error) {
	var deleted workflow.Event
	err := s.writer.do("delete event", func(tx *Tx) (err error) {
		if deleted, err = getEvent(tx, id); err != nil {
			return err
		}
		return tx.execOne(`UPDATE event SET data = 'null', is_deleted = 1 WHERE id = ?`, id)
	})
	return deleted, err
}

// DeleteEvents does to all events of a workflow what DeleteEvent does to one,
// and returns how many there were.
func (s *Store) DeleteEvents(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.writer.do("delete events", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		n, err = tx.exec(`UPDATE event SET data = 'null', is_deleted = 1 WHERE workflow_id = ? AND is_deleted = 0`, workflowID)
		if err != nil {
			return fmt.Errorf("delete the events of workflow %d: %w", workflowID, err)
		}
		return nil
	})
	return n, err
}

func getEvent(tx *Tx, id int64) (workflow.Event, error) {
	return getOne(tx, "event", id, `SELECT `+eventColumns+` FROM event WHERE id = ? AND is_deleted = 0`, scanEvent)
}
