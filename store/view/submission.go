package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

const submissionColumns = `s.workflow_id, s.run_id, s.submitted_ms, s.options`

func scanSubmission(r sqlite.Scanner) (s compute.Submission, err error) {
	var options string
	if err := r.Scan(&s.WorkflowID, &s.RunID, &s.SubmittedMS, &options); err != nil {
		return s, err
	}
	err = json.Unmarshal([]byte(options), &s.Options)
	return s, sqlite.Wrap(err, "read the submission of workflow %d", s.WorkflowID)
}

// Submission returns how the current run of a workflow was submitted; nil if it was not.
func (s Scheduling) Submission(ctx context.Context, workflowID int64) (*compute.Submission, error) {
	found, err := scanSubmission(s.DB.Read.QueryRowContext(ctx, `SELECT `+submissionColumns+` FROM submission s JOIN workflow w ON w.id = s.workflow_id
		WHERE w.id = ? AND w.run_id = s.run_id AND w.is_hidden = 0`, workflowID))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the submission of workflow %d: %w", workflowID, err)
	}
	return &found, nil
}

// IsOff reports whether the latest submission of a workflow switched automatic scheduling
// off, apart from the requests of its actions.
func (s Scheduling) IsOff(ctx context.Context, workflowID int64) (bool, error) {
	latest, err := scanSubmission(s.DB.Read.QueryRowContext(ctx, `SELECT `+submissionColumns+` FROM submission s WHERE s.workflow_id = ?`, workflowID))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read the submission of workflow %d: %w", workflowID, err)
	}
	return latest.Options.NoAutoSchedule, nil
}

// Workflows returns the workflows whose allocations the daemon manages: submitted ones that
// run or are being undone, and ended ones that still have allocations.
func (s Scheduling) Workflows(ctx context.Context) ([]int64, error) {
	ids, err := sqlite.SelectContext(ctx, s.DB.Read, ScanID, `SELECT w.id FROM submission s JOIN workflow w ON w.id = s.workflow_id
			WHERE w.run_id = s.run_id AND w.is_hidden = 0 AND (w.has_ended = 0 AND w.is_canceled = 0
				OR EXISTS (SELECT 1 FROM compensation c WHERE c.workflow_id = w.id AND c.run_id = w.run_id AND c.state IN ('waiting', 'running')))
		UNION SELECT w.id FROM allocation a JOIN workflow w ON w.id = a.workflow_id
			WHERE a.state IN ('intent', 'pending') AND a.cancel_ms = 0 AND w.has_ended = 1 AND w.is_hidden = 0
				AND w.compute_node_ignore_workflow_completion = 0
		ORDER BY 1`)
	return ids, sqlite.Wrap(err, "list submitted workflows")
}
