package core

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// failuresAtHold is the evidence of a claim hold by max_failures.
type failuresAtHold struct {
	Failed      int64 `json:"failed"`
	MaxFailures int64 `json:"max_failures"`
	// Forgiven is how many jobs had failed when somebody released the hold: that many no
	// longer count.
	Forgiven int64 `json:"forgiven,omitempty"`
}

// ReviewFailed checks the workflows whose number of failed jobs has changed. It updates
// ClaimHolds of the run, which may be nil.
func ReviewFailed(tx *Tx, r *view.Run) error {
	failed := tx.Failed
	tx.Failed = nil
	for _, id := range failed {
		if err := reviewFailures(tx, id); err != nil {
			return err
		}
		if r != nil && r.WorkflowID == id {
			now, err := LoadRun(tx, id)
			if err != nil {
				return err
			}
			r.ClaimHolds = now.ClaimHolds
		}
	}
	return nil
}

// reviewFailures holds the claims of a workflow when max_failures jobs have failed for
// good, and releases them when fewer have.
func reviewFailures(tx *Tx, workflowID int64) error {
	var most sql.NullInt64
	var holds int64
	err := tx.Row(`SELECT json_extract(policy, '$.max_failures'), claim_holds FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID}, &most, &holds)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !most.Valid && holds == 0:
		return nil
	case err != nil:
		return fmt.Errorf("count the failures of workflow %d: %w", workflowID, err)
	}
	r, err := LoadRun(tx, workflowID)
	if err != nil {
		return err
	}
	failed, err := FailedJobs(tx, r)
	if err != nil {
		return err
	}
	forgiven, err := forgivenFailures(tx, r)
	if err != nil {
		return err
	}
	if !most.Valid || failed-forgiven < most.Int64 {
		return ReleaseClaims(tx, workflowID, ClaimHoldSelection{Kind: hold.HoldMaxFailures}, "fewer than max_failures jobs have failed")
	}
	if r.Ended || r.Canceled {
		return nil
	}
	evidence, err := json.Marshal(failuresAtHold{Failed: failed, MaxFailures: most.Int64})
	if err != nil {
		return fmt.Errorf("hold the claims of workflow %d: %w", workflowID, err)
	}
	reason := fmt.Sprintf("%s failed, max_failures is %d", workflow.CountOf(failed, "job has", "jobs have"), most.Int64)
	if forgiven > 0 {
		reason += fmt.Sprintf(", not counting the first %d", forgiven)
	}
	began, err := HoldClaims(tx, r, hold.ClaimHold{Kind: hold.HoldMaxFailures, Reason: reason, Evidence: evidence})
	if err != nil || !began {
		return err
	}
	return RaiseAlert(tx, r, workflow.Alert{Kind: workflow.AlertMaxFailures, Subject: reason + ": no further job is claimed",
		Text: fmt.Sprintf("Running jobs continue. To continue with the rest: workflows resume %d, or workflows update %d --max-failures N.", workflowID, workflowID)})
}

// FailedJobs counts the jobs of a run that have failed for good; not sub-workflow jobs,
// which fail because of their jobs, nor jobs of a compensation.
func FailedJobs(tx *Tx, r *view.Run) (int64, error) {
	counts, err := StatusCounts(tx, r.WorkflowID)
	n := counts.ByStatus[workflow.Failed] + counts.ByStatus[workflow.Terminated]
	if err != nil || n == 0 || !r.Stages {
		return n, err
	}
	var beside int64
	err = tx.Row(`SELECT (SELECT COUNT(*) FROM stage s JOIN job p ON p.child_id = s.id AND p.status IN ({failed}, {terminated}) WHERE s.workflow_id = ?1)
		+ (SELECT COUNT(*) FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN ({failed}, {terminated}) WHERE s.workflow_id = ?1 AND s.kind = 'compensation')`,
		[]any{r.WorkflowID}, &beside)
	if err != nil {
		return 0, fmt.Errorf("count the failed jobs of workflow %d: %w", r.WorkflowID, err)
	}
	return n - beside, nil
}

// forgivenFailures returns how many jobs had failed when somebody last released a hold of
// the run.
func forgivenFailures(tx *Tx, r *view.Run) (n int64, err error) {
	err = tx.Row(`SELECT COALESCE(MAX(json_extract(evidence, '$.forgiven')), 0) FROM claim_hold WHERE workflow_id = ? AND run_id = ? AND kind = 'max_failures'`,
		[]any{r.WorkflowID, r.RunID}, &n)
	return n, sqlite.Wrap(err, "read the claim holds of workflow %d", r.WorkflowID)
}
