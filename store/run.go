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
	halted       bool // jobs do not go on when their dependencies are complete
	ended        bool // the verdict of this generation is written
	holdFailures bool // use_pending_failed
	execution    sql.NullString
	codes        *workflow.ReturnCodes // read from execution at the first use
	policyText   sql.NullString
	policyRead   *workflow.RunPolicy // of policyText, at the first use
}

// run reads the current run of a visible workflow.
func (tx *Tx) run(workflowID int64) (*run, error) {
	return readRun(tx.row, workflowID)
}

func readRun(row func(query string, args []any, dest ...any) error, workflowID int64) (*run, error) {
	r := &run{workflowID: workflowID}
	err := row(`SELECT run_id, end_generation, is_canceled, is_halted, has_ended, COALESCE(use_pending_failed, 0), execution_config, policy
		FROM workflow WHERE id = ? AND is_hidden = 0`, []any{workflowID},
		&r.runID, &r.generation, &r.canceled, &r.halted, &r.ended, &r.holdFailures, &r.execution, &r.policyText)
	return r, orNotFound(err, "workflow", workflowID)
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
