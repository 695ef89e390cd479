package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// run is what must be known of a workflow to record what happens in it.
type run struct {
	workflowID   int64
	runID        int64
	generation   int64
	canceled     bool
	halted       bool                       // jobs do not go on when their dependencies are complete
	ended        bool                       // the verdict of this generation is written
	givenUp      string                     // why it was given up
	holdFailures bool                       // use_pending_failed
	stages       bool                       // it has jobs in other stages than the main one
	compensation workflow.CompensationState // of this run; empty if there is none
	execution    sql.NullString
	codes        *workflow.ReturnCodes // read from execution at the first use
	claimHolds   int64                 // how many hold the claims
	policyText   sql.NullString
	policyRead   *workflow.RunPolicy // of policyText, at the first use
}

// run reads the current run of a visible workflow.
func (tx *Tx) run(workflowID int64) (*run, error) {
	return readRun(tx.row, workflowID)
}

func readRun(row func(query string, args []any, dest ...any) error, workflowID int64) (*run, error) {
	r := &run{workflowID: workflowID}
	err := row(`SELECT run_id, end_generation, is_canceled, is_halted, has_ended, COALESCE(given_up, ''), COALESCE(use_pending_failed, 0), claim_holds, execution_config, policy,
			EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = workflow.id),
			COALESCE((SELECT c.state FROM compensation c WHERE c.workflow_id = workflow.id AND c.run_id = workflow.run_id), '')
		FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID},
		&r.runID, &r.generation, &r.canceled, &r.halted, &r.ended, &r.givenUp, &r.holdFailures, &r.claimHolds, &r.execution, &r.policyText, &r.stages, &r.compensation)
	if r.compensating() {
		r.halted = false // its jobs go on, and no others are open, or they are of a canceled run
	}
	return r, orNotFound(err, "workflow", workflowID)
}

// compensating reports whether what the run did is being undone.
func (r *run) compensating() bool { return r.compensation != "" && !r.compensation.IsOver() }

// refuseWhileCompensating refuses what would let a run go on that is being undone.
func (r *run) refuseWhileCompensating() error {
	if !r.compensating() {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "what run %d of workflow %d did is being undone", r.runID, r.workflowID).
		WithHint("wait for the end of the compensation, or cancel the workflow, which ends it")
}

// returnCodes returns the return codes of attempts that have none of their own.
func (r *run) returnCodes() (workflow.ReturnCodes, error) {
	if r.codes != nil {
		return *r.codes, nil
	}
	var config *workflow.ExecutionConfig
	if r.execution.Valid {
		if err := json.Unmarshal([]byte(r.execution.String), &config); err != nil {
			return workflow.ReturnCodes{}, fmt.Errorf("read the execution_config of workflow %d: %w", r.workflowID, err)
		}
	}
	codes := config.ReturnCodes()
	r.codes = &codes
	return codes, nil
}

// policy returns what the workflow says about failures.
func (r *run) policy() (*workflow.RunPolicy, error) {
	if r.policyRead != nil {
		return r.policyRead, nil
	}
	p := &workflow.RunPolicy{}
	if r.policyText.Valid {
		if err := json.Unmarshal([]byte(r.policyText.String), p); err != nil {
			return nil, fmt.Errorf("read the policy of workflow %d: %w", r.workflowID, err)
		}
	}
	r.policyRead = p
	return p, nil
}

// require refuses a request that was made for another run.
func (r *run) require(runID int64) error {
	if runID != r.runID {
		return workflow.Errorf(workflow.CodeConflict, "Run ID mismatch: provided %d but workflow %d is at run %d", runID, r.workflowID, r.runID)
	}
	return nil
}
