package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// dueHolds selects the jobs whose hold has expired. The + makes SQLite use the index of
// deadlines.
const dueHolds = `SELECT j.id FROM job j JOIN workflow w ON w.id = j.workflow_id
	WHERE j.status = {pending_failed} AND json_extract(j.hold, '$.deadline_ms') <= ? AND w.is_canceled = 0 AND w.is_hidden = 0 ORDER BY +j.id`

// Expire classifies the jobs whose hold has expired by the clock of the database, and
// returns how many there were.
func (s Holds) Expire(ctx context.Context) (n int, err error) {
	due, err := sqlite.SelectContext(ctx, s.DB.Read, view.ScanID, dueHolds, s.DB.Now().UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("find expired holds: %w", err)
	}
	for _, id := range due {
		var ended bool
		err := s.shared.Do("end a hold", func(tx *core.Tx) (err error) {
			ended, err = expireHeldJob(tx, id)
			return err
		})
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound { // it was deleted meanwhile
			return n, fmt.Errorf("end the hold of job %d: %w", id, err)
		}
		if ended {
			n++
		}
	}
	return n, nil
}

// expireHeldJob classifies a job whose hold has expired. If it has no retries left, it
// fails.
func expireHeldJob(tx *core.Tx, id int64) (bool, error) {
	text, err := core.GetOne(tx, "job", id, `SELECT COALESCE(hold, '{}') FROM job WHERE id = ? AND status = {pending_failed}`, sqlite.ScanString)
	if err != nil {
		return false, err
	}
	var h workflow.Hold
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return false, fmt.Errorf("read the hold of job %d: %w", id, err)
	}
	if h.DeadlineMS == nil || *h.DeadlineMS > tx.NowMS {
		return false, nil
	}
	c := hold.AtDeadline(&h)
	_, err = classifyJob(tx, id, c, false)
	if refused, ok := errors.AsType[*workflow.Error](err); ok && refused.Code == workflow.CodeConflict && c.Status == workflow.Ready {
		c.Status, c.Reason = workflow.Failed, c.Reason+", and "+refused.Message
		_, err = classifyJob(tx, id, c, false)
	}
	return err == nil, err
}
