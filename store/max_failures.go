package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// failuresAtHold is the evidence of a hold of claims by max_failures.
type failuresAtHold struct {
	Failed      int64 `json:"failed"`
	MaxFailures int64 `json:"max_failures"`
	// Forgiven is how many had failed when somebody lifted the hold: so many are
	// not counted any more.
	Forgiven int64 `json:"forgiven,omitempty"`
}

// reviewFailed looks at the workflows in which the number of failed jobs has
// changed. The run, if there is one, is told what holds its claims then.
func (tx *Tx) reviewFailed(r *run) error {
	failed := tx.failed
	tx.failed = nil
	for _, id := range failed {
		if err := tx.reviewFailures(id); err != nil {
			return err
		}
		if r != nil && r.workflowID == id {
			now, err := tx.run(id)
			if err != nil {
				return err
			}
			r.claimHolds = now.claimHolds
		}
	}
	return nil
}

// reviewFailures holds the claims of a workflow in which as many jobs have failed
// for good as may, and releases them when there are fewer again.
func (tx *Tx) reviewFailures(workflowID int64) error {
	var most sql.NullInt64
	var holds int64
	err := tx.row(`SELECT json_extract(policy, '$.max_failures'), claim_holds FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID}, &most, &holds)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !most.Valid && holds == 0:
		return nil
	case err != nil:
		return fmt.Errorf("look at the failures of workflow %d: %w", workflowID, err)
	}
	r, err := tx.run(workflowID)
	if err != nil {
		return err
	}
	failed, err := tx.failedJobs(r)
	if err != nil {
		return err
	}
	forgiven, err := tx.forgivenFailures(r)
	if err != nil {
		return err
	}
	if !most.Valid || failed-forgiven < most.Int64 {
		return tx.releaseClaims(workflowID, claimHoldSelection{kind: workflow.HoldMaxFailures}, "fewer jobs have failed than may")
	}
	if r.ended || r.canceled {
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
	began, err := tx.holdClaims(r, workflow.ClaimHold{Kind: workflow.HoldMaxFailures, Reason: reason, Evidence: evidence})
	if err != nil || !began {
		return err
	}
	return tx.alert(r, workflow.Alert{Kind: workflow.AlertMaxFailures, Subject: reason + ": no further job is claimed",
		Text: fmt.Sprintf("What runs goes on. To go on with the rest: workflows resume %d, or workflows update %d --max-failures N.", workflowID, workflowID)})
}

// failedJobs counts the jobs of a run that have failed for good. A sub-workflow job
// fails because jobs of it did, and what undoes a run is not of it.
func (tx *Tx) failedJobs(r *run) (int64, error) {
	counts, err := tx.statusCounts(r.workflowID)
	n := counts.ByStatus[workflow.Failed] + counts.ByStatus[workflow.Terminated]
	if err != nil || n == 0 || !r.stages {
		return n, err
	}
	var beside int64
	err = tx.row(`SELECT (SELECT COUNT(*) FROM stage s JOIN job p ON p.child_id = s.id AND p.status IN (6, 8) WHERE s.workflow_id = ?1)
		+ (SELECT COUNT(*) FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN (6, 8) WHERE s.workflow_id = ?1 AND s.kind = 'compensation')`,
		[]any{r.workflowID}, &beside)
	if err != nil {
		return 0, fmt.Errorf("count the failed jobs of workflow %d: %w", r.workflowID, err)
	}
	return n - beside, nil
}

// forgivenFailures is how many jobs had failed when somebody last lifted a hold of
// the run.
func (tx *Tx) forgivenFailures(r *run) (n int64, err error) {
	err = tx.row(`SELECT COALESCE(MAX(json_extract(evidence, '$.forgiven')), 0) FROM claim_hold WHERE workflow_id = ? AND run_id = ? AND kind = 'max_failures'`,
		[]any{r.workflowID, r.runID}, &n)
	if err != nil {
		return 0, fmt.Errorf("look at the holds of claims of workflow %d: %w", r.workflowID, err)
	}
	return n, nil
}

// forgiveFailures has what has failed so far not counted any more, before a hold
// is lifted.
func (tx *Tx) forgiveFailures(r *run) error {
	failed, err := tx.failedJobs(r)
	if err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE claim_hold SET evidence = json_set(evidence, '$.forgiven', ?) WHERE workflow_id = ? AND kind = 'max_failures' AND ended_ms = 0`,
		failed, r.workflowID)
	if err != nil {
		return fmt.Errorf("forgive the failures of workflow %d: %w", r.workflowID, err)
	}
	return nil
}
