package core

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// loggedEvent is an event that is not yet written.
type loggedEvent struct {
	workflowID int64
	kind       string
	severity   event.Severity
	data       string
}

// Event appends an event to a workflow's log, with the next seq. FlushEvents writes it, at
// the latest at the end of the use case.
func (tx *Tx) Event(workflowID int64, kind string, severity event.Severity, data any) error {
	var text []byte
	if d, ok := data.(interface{ AppendJSON(b []byte) []byte }); ok {
		text = d.AppendJSON(make([]byte, 0, 256))
	} else {
		var err error
		if text, err = json.Marshal(data); err != nil {
			return fmt.Errorf("event %s of workflow %d: %w", kind, workflowID, err)
		}
	}
	tx.events = append(tx.events, loggedEvent{workflowID, kind, severity, string(text)})
	return nil
}

// FlushEvents writes the collected events.
func (tx *Tx) FlushEvents() error {
	for len(tx.events) > 0 {
		id := tx.events[0].workflowID
		n := 1
		for n < len(tx.events) && tx.events[n].workflowID == id {
			n++
		}
		if err := tx.writeEvents(id, tx.events[:n]); err != nil {
			return fmt.Errorf("write %d events of workflow %d: %w", n, id, err)
		}
		tx.events = tx.events[n:]
	}
	tx.events = nil
	return nil
}

// writeEvents appends events of one workflow.
func (tx *Tx) writeEvents(workflowID int64, events []loggedEvent) error {
	var last int64
	err := tx.Row(`UPDATE workflow SET event_seq = event_seq + ?2 WHERE id = ?1 RETURNING event_seq`,
		[]any{workflowID, len(events)}, &last)
	if err != nil {
		return err
	}
	seq := last - int64(len(events))
	rows := tx.NewBulk("event", "workflow_id, seq, timestamp_ms, type, severity, data")
	for i := range events {
		e := &events[i]
		seq++
		if err := rows.Add(workflowID, seq, tx.NowMS, e.kind, e.severity.Level(), e.data); err != nil {
			return err
		}
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	if tx.Changes.Events == nil {
		tx.Changes.Events = map[int64]int64{}
	}
	tx.Changes.Events[workflowID] = last
	return nil
}
