package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Outgoing is a message to be sent now.
type Outgoing struct {
	Batch  int64
	Try    int64 // counts from 1
	Target workflow.Target
	workflow.Message
}

// TakeMessage starts an attempt to send a due message, and returns it. If none is due, it
// returns nil and when the next one is, in ms; 0 if there is none. An address gets at most
// one message about a workflow per interval, with everything that has arrived since the
// last. An attempt that ends without MessageSent or MessageFailed has failed.
func (s Alerts) TakeMessage(_ context.Context, every time.Duration) (m *Outgoing, nextMS int64, err error) {
	err = s.shared.Do("take a message", func(tx *core.Tx) (err error) {
		m, nextMS, err = takeMessage(tx, every)
		return err
	})
	return m, nextMS, err
}

func takeMessage(tx *core.Tx, every time.Duration) (*Outgoing, int64, error) {
	for {
		m := &Outgoing{}
		err := tx.Row(`SELECT workflow_id, way, address, batch, tries FROM notification WHERE state = 'pending' AND due_ms <= ? ORDER BY due_ms, id LIMIT 1`,
			[]any{tx.NowMS}, &m.WorkflowID, &m.Target.Channel, &m.Target.Address, &m.Batch, &m.Try)
		if errors.Is(err, sql.ErrNoRows) {
			var next int64
			err := tx.Row(`SELECT COALESCE(MIN(due_ms), 0) FROM notification WHERE state = 'pending'`, nil, &next)
			return nil, next, err
		}
		if err != nil {
			return nil, 0, fmt.Errorf("find due messages: %w", err)
		}
		if m.Batch == 0 {
			later, err := batchMessages(tx, m, every)
			if err != nil {
				return nil, 0, fmt.Errorf("collect the messages about workflow %d: %w", m.WorkflowID, err)
			}
			if later {
				continue
			}
		}
		m.Try++
		_, err = tx.Exec(`UPDATE notification SET tries = ?2, at_ms = ?3, due_ms = ?4 WHERE batch = ?1 AND batch != 0`,
			m.Batch, m.Try, tx.NowMS, tx.NowMS+workflow.MessageDelay(m.Try).Milliseconds())
		if err != nil {
			return nil, 0, fmt.Errorf("start to send message %d: %w", m.Batch, err)
		}
		return m, 0, readMessage(tx, m)
	}
}

// batchMessages combines what is due for a recipient into one message, or postpones it.
func batchMessages(tx *core.Tx, m *Outgoing, every time.Duration) (later bool, err error) {
	const target = `workflow_id = ?1 AND way = ?2 AND address = ?3`
	args := []any{m.WorkflowID, string(m.Target.Channel), m.Target.Address}
	var last int64
	if err := tx.Row(`SELECT COALESCE(MAX(at_ms), 0) FROM notification WHERE `+target+` AND batch != 0`, args, &last); err != nil {
		return false, err
	}
	if due := last + every.Milliseconds(); last > 0 && due > tx.NowMS {
		_, err := tx.Exec(`UPDATE notification SET due_ms = ?4 WHERE `+target+` AND batch = 0`, append(args, due)...)
		return true, err
	}
	if err := tx.Row(`SELECT MIN(id) FROM notification WHERE `+target+` AND batch = 0`, args, &m.Batch); err != nil {
		return false, err
	}
	_, err = tx.Exec(`UPDATE notification SET batch = ?4, tries = 0 WHERE `+target+` AND batch = 0`, append(args, m.Batch)...)
	return false, err
}

// readMessage reads the content of a message.
func readMessage(tx *core.Tx, m *Outgoing) error {
	var first int64
	err := tx.Row(`SELECT w.name, COUNT(*), MIN(a.at_ms) FROM workflow w CROSS JOIN notification n JOIN alert a ON a.id = n.alert_id
		WHERE w.id = ?1 AND n.batch = ?2 AND n.batch != 0`, []any{m.WorkflowID, m.Batch}, &m.WorkflowName, &m.AlertCount, &first)
	if err != nil {
		return fmt.Errorf("read message %d: %w", m.Batch, err)
	}
	m.ID = fmt.Sprintf("torc-slurm-%d-%d-%d", m.WorkflowID, m.Batch, first) // ids repeat in other databases, times do not
	rows, err := tx.Query(`SELECT `+view.AlertColumns+` FROM alert WHERE id IN (SELECT alert_id FROM notification WHERE batch = ? AND batch != 0) ORDER BY id LIMIT ?`,
		m.Batch, workflow.MessageAlerts)
	if err != nil {
		return fmt.Errorf("read message %d: %w", m.Batch, err)
	}
	if m.Alerts, err = sqlite.Collect(rows, view.ScanAlert); err != nil {
		return fmt.Errorf("read message %d: %w", m.Batch, err)
	}
	for i := range m.Alerts {
		m.Alerts[i].Deliveries = nil // not part of the message
	}
	m.Write()
	return nil
}

// MessageSent records that a message was sent.
func (s Alerts) MessageSent(_ context.Context, batch int64) error {
	return s.endTry(batch, `state = 'sent', error = ''`)
}

// MessageFailed records why an attempt to send a message failed. After MessageTries
// attempts the message has failed.
func (s Alerts) MessageFailed(_ context.Context, batch int64, why string) error {
	return s.endTry(batch, `error = ?2, state = iif(tries >= ?3, 'failed', 'pending')`, why, workflow.MessageTries)
}

// MessageInterrupted makes a message due again at once.
func (s Alerts) MessageInterrupted(_ context.Context, batch int64) error {
	return s.endTry(batch, `due_ms = at_ms`)
}

func (s Alerts) endTry(batch int64, columns string, args ...any) error {
	return s.shared.Do("end an attempt to send a message", func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE notification SET `+columns+` WHERE batch = ?1 AND batch != 0 AND state = 'pending'`, append([]any{batch}, args...)...)
		return sqlite.Wrap(err, "end an attempt to send message %d", batch)
	})
}
