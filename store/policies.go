package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// policies reads the rules that apply to a job, and completes its history.
func (f *finisher) policies(job int64, h *workflow.History) (workflow.Policies, error) {
	p := workflow.Policies{UsePendingFailed: f.run.holdFailures, Default: workflow.DefaultPolicy()}
	var handler sql.NullInt64
	var counts sql.NullString
	err := f.tx.row(`SELECT failure_handler_id, rule_counts, counted_failures FROM job WHERE id = ?`, []any{job},
		&handler, &counts, &h.CountedFails)
	if err != nil {
		return p, fmt.Errorf("read the policies of job %d: %w", job, err)
	}
	if counts.Valid {
		if err := json.Unmarshal([]byte(counts.String), &h.Rules); err != nil {
			return p, fmt.Errorf("read the retries of job %d: %w", job, err)
		}
	}
	if handler.Valid {
		if p.Handler, err = f.handler(handler.Int64); err != nil {
			return p, err
		}
	}
	return p, nil
}

// handler reads a failure handler, once.
func (f *finisher) handler(id int64) (*workflow.FailureHandlerDefinition, error) {
	if d := f.handlers[id]; d != nil {
		return d, nil
	}
	h, err := getOne(f.tx, "failure_handler", id, `SELECT `+failureHandlerColumns+` FROM failure_handler WHERE id = ?`, scanFailureHandler)
	if err != nil {
		return nil, err
	}
	d, err := h.Definition()
	if err != nil {
		return nil, err
	}
	if f.handlers == nil {
		f.handlers = map[int64]*workflow.FailureHandlerDefinition{}
	}
	f.handlers[id] = d
	return d, nil
}
