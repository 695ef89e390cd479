package store

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// GrantInput is a file that the runner writes for a job before it starts it.
type GrantInput struct {
	Variable string // that names the file in the job's environment
	Data     json.RawMessage
}

// endJSON is the variable that names the input of an end job.
const endJSON = "TORC_END_JSON"

// stageInput returns the input of a job of a stage; nil if it has none.
func (tx *Tx) stageInput(workflowID, stageID int64) (*GrantInput, error) {
	stages, err := tx.stagesOf(`s.id = ?`, stageID)
	if err != nil || len(stages) == 0 || stages[0].Kind != workflow.StageEnd {
		return nil, err
	}
	in, err := tx.endInput(workflowID, stages[0].ParentID)
	if err != nil {
		return nil, fmt.Errorf("write the input of stage %d: %w", stageID, err)
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write the input of stage %d: %w", stageID, err)
	}
	return &GrantInput{endJSON, data}, nil
}

// endInput says how a stage (nil: the main one) went until its end job.
func (tx *Tx) endInput(workflowID int64, of *int64) (in workflow.EndInput, err error) {
	r, err := tx.run(workflowID)
	if err != nil {
		return in, err
	}
	if of == nil {
		v, err := tx.mainVerdict(r)
		if err != nil {
			return in, err
		}
		v.Payload.WorkflowID, v.Payload.RunID, v.Payload.EndGeneration = r.workflowID, r.runID, r.generation
		in = workflow.NewEndInput(&v.Payload, v.EventType == workflow.EventWorkflowCompleted)
	} else {
		stages, err := tx.stagesOf(`s.id = ?`, *of)
		if err != nil || len(stages) == 0 {
			return in, err
		}
		v, err := stageVerdict(tx.each, &stages[0].Stage, r.runID)
		if err != nil {
			return in, err
		}
		in = workflow.NewEndInput(&v.EndPayload, v.Succeeded())
		in.Stage = v.Stage
	}
	if err := tx.row(`SELECT name FROM workflow WHERE id = ?`, []any{workflowID}, &in.WorkflowName); err != nil {
		return in, err
	}
	err = tx.each(`SELECT j.id, j.name, j.status, j.attempt_id, COALESCE(a.return_code, 0), COALESCE(a.cause, ''), COALESCE(a.cause_text, '')
		FROM job j LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = ? AND a.attempt_id = j.attempt_id
		WHERE j.workflow_id = ? AND j.status IN (6, 8) AND j.stage_id IS ? ORDER BY j.id LIMIT ?`, func(row rowScanner) error {
		var j workflow.EndInputJob
		err := row.Scan(&j.JobID, &j.Name, &j.Status, &j.AttemptID, &j.ReturnCode, &j.Cause, &j.Text)
		in.FailedJobs = append(in.FailedJobs, j)
		return err
	}, r.runID, workflowID, of, workflow.EndInputJobs)
	return in, err
}
