package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// endJSON is the environment variable with the input of an end job.
const endJSON = "TORC_END_JSON"

// StageInput returns the input of a job of a stage; nil if it has none.
func StageInput(tx *core.Tx, workflowID, stageID int64) (*lease.GrantInput, error) {
	stages, err := loadStages(tx, `s.id = ?`, stageID)
	if err != nil || len(stages) == 0 || stages[0].Kind != workflow.StageEnd {
		return nil, err
	}
	in, err := endInput(tx, workflowID, stages[0].ParentID)
	if err != nil {
		return nil, fmt.Errorf("write the input of stage %d: %w", stageID, err)
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write the input of stage %d: %w", stageID, err)
	}
	return &lease.GrantInput{Variable: endJSON, Data: data}, nil
}

// endInput returns how a stage (nil: the main one) went before its end job.
func endInput(tx *core.Tx, workflowID int64, of *int64) (in stage.EndInput, err error) {
	r, err := core.LoadRun(tx, workflowID)
	if err != nil {
		return in, err
	}
	if of == nil {
		v, err := mainVerdict(tx, r)
		if err != nil {
			return in, err
		}
		v.Payload.WorkflowID, v.Payload.RunID, v.Payload.EndGeneration = r.WorkflowID, r.RunID, r.Generation
		in = stage.NewEndInput(&v.Payload, v.EventType == workflow.EventWorkflowCompleted)
	} else {
		stages, err := loadStages(tx, `s.id = ?`, *of)
		if err != nil || len(stages) == 0 {
			return in, err
		}
		v, err := row.StageVerdict(tx.Each, &stages[0].Stage, r.RunID)
		if err != nil {
			return in, err
		}
		in = stage.NewEndInput(&v.EndPayload, v.Succeeded())
		in.Stage = v.Stage
	}
	if err := tx.Row(`SELECT name FROM workflow WHERE id = ?`, []any{workflowID}, &in.WorkflowName); err != nil {
		return in, err
	}
	err = tx.Each(`SELECT j.id, j.name, j.status, j.attempt_id, COALESCE(a.return_code, 0), COALESCE(a.cause, ''), COALESCE(a.cause_text, '')
		FROM job j LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = ? AND a.attempt_id = j.attempt_id
		WHERE j.workflow_id = ? AND j.status IN ({failed}, {terminated}) AND j.stage_id IS ? ORDER BY j.id LIMIT ?`, func(row sqlite.Scanner) error {
		var j stage.EndInputJob
		err := row.Scan(&j.JobID, &j.Name, &j.Status, &j.AttemptID, &j.ReturnCode, &j.Cause, &j.Text)
		in.FailedJobs = append(in.FailedJobs, j)
		return err
	}, r.RunID, workflowID, of, stage.EndInputJobs)
	return in, err
}
