package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Attempts returns the attempts of a job in all runs, oldest first. A running attempt is
// included, without an end.
func (s Jobs) Attempts(ctx context.Context, jobID int64) ([]workflow.Attempt, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	var one int
	err = tx.QueryRowContext(ctx, `SELECT 1 FROM job j JOIN workflow w ON w.id = j.workflow_id WHERE j.id = ? AND w.is_hidden = 0`, jobID).Scan(&one)
	if err := OrNotFound(err, "job", jobID); err != nil {
		return nil, err
	}
	return jobAttempts(ctx, tx, jobID)
}

func jobAttempts(ctx context.Context, tx *sql.Tx, jobID int64) ([]workflow.Attempt, error) {
	attempts, err := sqlite.SelectContext(ctx, tx, scanAttempt, `SELECT a.workflow_id, a.job_id, a.run_id, a.attempt_id, a.fence, a.compute_node_id, a.hostname, a.start_ms, a.end_ms,
			a.status, a.return_code, a.cause, a.confidence, a.cause_text, a.evidence, a.action, a.reason, a.rule, a.counted, a.policy_hash,
			x.end_ms, x.return_code, x.cause, x.confidence, x.cause_text, x.on_error, x.action, x.reason, x.rule, x.policy_hash, COALESCE(n.output_dir, '')
		FROM attempt a LEFT JOIN compute_node n ON n.id = a.compute_node_id LEFT JOIN failed_recovery x ON x.job_id = a.job_id AND x.run_id = a.run_id AND x.attempt_id = a.attempt_id
		WHERE a.job_id = ? ORDER BY a.run_id, a.attempt_id`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the attempts of job %d: %w", jobID, err)
	}
	live := workflow.Attempt{Status: workflow.Running}
	err = tx.QueryRowContext(ctx, `SELECT j.workflow_id, j.id, w.run_id, j.attempt_id, j.fence, j.compute_node_id, COALESCE(n.hostname, ''), j.start_ms, COALESCE(n.output_dir, '')
		FROM job j JOIN workflow w ON w.id = j.workflow_id LEFT JOIN compute_node n ON n.id = j.compute_node_id
		WHERE j.id = ? AND j.status = {running}`, jobID).
		Scan(&live.WorkflowID, &live.JobID, &live.RunID, &live.AttemptID, &live.Fence, &live.RunnerID, &live.Node, &live.StartedMS, &live.OutputDir)
	switch {
	case err == nil:
		return append(attempts, live), nil
	case errors.Is(err, sql.ErrNoRows):
		return attempts, nil
	}
	return nil, fmt.Errorf("read the running attempt of job %d: %w", jobID, err)
}

func scanAttempt(r sqlite.Scanner) (a workflow.Attempt, err error) {
	var host, evidence sql.NullString
	var script scannedRecovery
	err = r.Scan(&a.WorkflowID, &a.JobID, &a.RunID, &a.AttemptID, &a.Fence, &a.RunnerID, &host, &a.StartedMS, &a.EndedMS, &a.Status,
		&a.ReturnCode, &a.Cause.Kind, &a.Cause.Confidence, &a.Cause.Text, &evidence,
		&a.Decision.Action, &a.Decision.Reason, &a.Decision.Rule, &a.Decision.Counted, &a.Decision.PolicyHash,
		&script.endMS, &script.returnCode, &script.cause, &script.confidence, &script.text, &script.onError,
		&script.action, &script.reason, &script.rule, &script.policyHash, &a.OutputDir)
	if err != nil {
		return a, err
	}
	a.Recovery = script.value()
	a.Node, a.Cause.Status, a.Cause.ReturnCode = host.String, a.Status, a.ReturnCode
	if evidence.Valid {
		err = json.Unmarshal([]byte(evidence.String), &a.Evidence)
	}
	return a, err
}

// scannedRecovery has the columns of a failed recovery, which may be null.
type scannedRecovery struct {
	endMS, returnCode                                                  sql.NullInt64
	cause, confidence, text, onError, action, reason, rule, policyHash sql.NullString
}

func (s *scannedRecovery) value() *workflow.FailedRecovery {
	if !s.endMS.Valid {
		return nil
	}
	return &workflow.FailedRecovery{
		EndedMS: s.endMS.Int64,
		Cause: workflow.Cause{Kind: workflow.CauseKind(s.cause.String), Confidence: workflow.Confidence(s.confidence.String),
			ReturnCode: s.returnCode.Int64, Text: s.text.String},
		OnError: workflow.Action(s.onError.String),
		Decision: workflow.Decision{Action: workflow.Action(s.action.String), Reason: s.reason.String, Rule: s.rule.String,
			PolicyHash: s.policyHash.String},
	}
}
