package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// HoldSelection says which held jobs of a workflow are meant: those of the ids,
// else those of the fingerprint, else all.
type HoldSelection struct {
	JobIDs      []int64
	Fingerprint string
}

// HeldJobs returns the jobs of a workflow that wait for a classification, by id;
// of all workflows if the id is 0.
func (s *Store) HeldJobs(ctx context.Context, workflowID int64) ([]workflow.HeldJob, error) {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	if workflowID != 0 {
		var one int
		err := tx.QueryRowContext(ctx, `SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, workflowID).Scan(&one)
		if err := orNotFound(err, "workflow", workflowID); err != nil {
			return nil, err
		}
	}
	return heldJobs(func(query string, args ...any) (*sql.Rows, error) { return tx.QueryContext(ctx, query, args...) }, workflowID)
}

// heldJobs reads held jobs within a transaction of any kind.
func heldJobs(ask func(query string, args ...any) (*sql.Rows, error), workflowID int64) ([]workflow.HeldJob, error) {
	// The IN is the condition of the index.
	query := `SELECT j.id, j.workflow_id, j.name, j.hold, a.cause, a.confidence, a.return_code, a.cause_text, a.evidence
		FROM job j JOIN workflow w ON w.id = j.workflow_id
			LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id AND a.attempt_id = j.attempt_id
		WHERE j.status IN (6, 7, 8, 10) AND j.status = 10 AND w.is_hidden = 0`
	var args []any
	if workflowID != 0 {
		query, args = query+` AND j.workflow_id = ?`, []any{workflowID}
	}
	rows, err := ask(query+` ORDER BY j.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read held jobs: %w", err)
	}
	held, err := collect(rows, scanHeld)
	if err != nil {
		return nil, fmt.Errorf("read held jobs: %w", err)
	}
	return held, nil
}

func scanHeld(r rowScanner) (workflow.HeldJob, error) {
	var id, workflowID int64
	var name string
	var hold, kind, confidence, text, evidence sql.NullString
	var code sql.NullInt64
	if err := r.Scan(&id, &workflowID, &name, &hold, &kind, &confidence, &code, &text, &evidence); err != nil {
		return workflow.HeldJob{}, err
	}
	var h workflow.Hold
	if hold.Valid {
		if err := json.Unmarshal([]byte(hold.String), &h); err != nil {
			return workflow.HeldJob{}, fmt.Errorf("read the hold of job %d: %w", id, err)
		}
	}
	var e workflow.Evidence
	if evidence.Valid {
		if err := json.Unmarshal([]byte(evidence.String), &e); err != nil {
			return workflow.HeldJob{}, fmt.Errorf("read the evidence of job %d: %w", id, err)
		}
	}
	c := workflow.Cause{
		Kind: workflow.CauseKind(kind.String), Confidence: workflow.Confidence(confidence.String), ReturnCode: code.Int64, Text: text.String,
	}
	return workflow.NewHeldJob(id, workflowID, name, h, c, e), nil
}

// ResolveHolds ends the holds of jobs, all in one transaction, and returns what
// became of each. A job whose hold cannot end is named with the reason, and the
// others are resolved.
func (s *Store) ResolveHolds(_ context.Context, workflowID int64, which HoldSelection, w workflow.Classification) ([]workflow.HoldOutcome, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	var outcomes []workflow.HoldOutcome
	err := s.writer.do("resolve holds", func(tx *Tx) error {
		outcomes = []workflow.HoldOutcome{}
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		if r.canceled && w.Status == workflow.Ready {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: its jobs are not retried", workflowID).
				WithHint("reset the workflow, or let the jobs fail")
		}
		ids, err := tx.selectHeld(workflowID, which)
		if err != nil {
			return err
		}
		for _, id := range ids {
			o, err := tx.resolveHold(workflowID, id, w)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		}
		return nil
	})
	return outcomes, err
}

// selectHeld returns the ids of the jobs that are meant, ascending.
func (tx *Tx) selectHeld(workflowID int64, which HoldSelection) ([]int64, error) {
	if len(which.JobIDs) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(which.JobIDs))), nil
	}
	held, err := heldJobs(tx.query, workflowID)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, j := range held {
		if which.Fingerprint == "" || j.Fingerprint == which.Fingerprint {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 && which.Fingerprint != "" {
		return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no held job with the fingerprint %s", workflowID, which.Fingerprint)
	}
	return ids, nil
}

// resolveHold classifies a job. That it is refused is an outcome, not an error.
func (tx *Tx) resolveHold(workflowID, id int64, w workflow.Classification) (workflow.HoldOutcome, error) {
	var of int64
	err := tx.row(`SELECT COALESCE((SELECT workflow_id FROM job WHERE id = ?), 0)`, []any{id}, &of)
	if err != nil {
		return workflow.HoldOutcome{}, fmt.Errorf("look for job %d: %w", id, err)
	}
	if of != workflowID {
		return workflow.HoldOutcome{JobID: id, Error: fmt.Sprintf("workflow %d has no job %d", workflowID, id)}, nil
	}
	o, err := tx.classify(id, w)
	var refusal *workflow.Error
	if errors.As(err, &refusal) && refusal.Code == workflow.CodeConflict {
		o.Error, o.Hint = refusal.Message, refusal.Hint
		return o, nil
	}
	return o, err
}
