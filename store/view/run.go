package view

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Run is the state of a workflow's run that recording its events needs.
type Run struct {
	WorkflowID   int64
	RunID        int64
	Generation   int64
	Canceled     bool
	Halted       bool                    // jobs do not continue when their dependencies are complete
	Ended        bool                    // the verdict of this generation is written
	GivenUp      string                  // why the run was aborted
	holdFailures bool                    // use_pending_failed
	Stages       bool                    // it has stages besides the main one
	Compensation stage.CompensationState // of this run; empty if there is none
	execution    sql.NullString
	codes        *workflow.ReturnCodes // read from execution at the first use
	ClaimHolds   int64                 // number of holds in effect
	policyText   sql.NullString
	policyRead   *workflow.RunPolicy // policyText decoded, at the first use
}

// ReadRun reads the current run of a workflow; CodeNotFound if there is no such workflow.
func ReadRun(row func(query string, args []any, dest ...any) error, workflowID int64) (*Run, error) {
	r := &Run{WorkflowID: workflowID}
	err := row(`SELECT run_id, end_generation, is_canceled, is_halted, has_ended, COALESCE(given_up, ''), COALESCE(use_pending_failed, 0), claim_holds, execution_config, policy,
			EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = workflow.id),
			COALESCE((SELECT c.state FROM compensation c WHERE c.workflow_id = workflow.id AND c.run_id = workflow.run_id), '')
		FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID},
		&r.RunID, &r.Generation, &r.Canceled, &r.Halted, &r.Ended, &r.GivenUp, &r.holdFailures, &r.ClaimHolds, &r.execution, &r.policyText, &r.Stages, &r.Compensation)
	if r.Compensating() {
		r.Halted = false // only compensation or end jobs are still open
	}
	return r, OrNotFound(err, "workflow", workflowID)
}

// Compensating reports whether the run is being undone.
func (r *Run) Compensating() bool { return r.Compensation != "" && !r.Compensation.IsOver() }

// RefuseWhileCompensating rejects a change that would let a run continue while it is being
// undone.
func (r *Run) RefuseWhileCompensating() error {
	if !r.Compensating() {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "run %d of workflow %d is being undone", r.RunID, r.WorkflowID).
		WithHint("wait for the end of the compensation, or cancel the workflow, which ends it")
}

// ReturnCodes returns the return codes for attempts without their own.
func (r *Run) ReturnCodes() (workflow.ReturnCodes, error) {
	if r.codes != nil {
		return *r.codes, nil
	}
	codes, err := row.ReturnCodes(r.execution)
	if err != nil {
		return codes, fmt.Errorf("workflow %d: %w", r.WorkflowID, err)
	}
	r.codes = &codes
	return codes, nil
}

// Policy returns the workflow's policy for failures.
func (r *Run) Policy() (*workflow.RunPolicy, error) {
	if r.policyRead != nil {
		return r.policyRead, nil
	}
	p := &workflow.RunPolicy{}
	if r.policyText.Valid {
		if err := json.Unmarshal([]byte(r.policyText.String), p); err != nil {
			return nil, fmt.Errorf("read the policy of workflow %d: %w", r.WorkflowID, err)
		}
	}
	r.policyRead = p
	return p, nil
}

// Require rejects a request that was made for another run.
func (r *Run) Require(runID int64) error {
	if runID != r.RunID {
		return workflow.Errorf(workflow.CodeConflict, "Run ID mismatch: provided %d but workflow %d is at run %d", runID, r.WorkflowID, r.RunID)
	}
	return nil
}
