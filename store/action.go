package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const actionColumns = `id, workflow_id, trigger_type, action_type, action_config, has_job_ids, trigger_count, required_triggers,
	executed, executed_at, executed_by, persistent, is_recovery, taken_ms`

func scanAction(r rowScanner) (a workflow.ActionRecord, err error) {
	var config string
	var hasJobs bool
	err = r.Scan(&a.ID, &a.WorkflowID, &a.TriggerType, &a.ActionType, &config, &hasJobs, &a.TriggerCount, &a.RequiredTriggers,
		&a.Executed, &a.ExecutedAt, &a.ExecutedBy, &a.Persistent, &a.IsRecovery, &a.TakenMS)
	a.Config = json.RawMessage(config)
	if hasJobs {
		a.JobIDs = []int64{}
	}
	return a, err
}

// rfc3339 writes a time with milliseconds and offset, as torc does.
func rfc3339(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000-07:00")
}

// CreateAction stores an action and returns it with its id. How often its
// trigger must count follows from its jobs.
func (s *Store) CreateAction(_ context.Context, a workflow.ActionRecord) (workflow.ActionRecord, error) {
	if err := workflow.ValidateActionConfig(a.TriggerType, a.ActionType, a.Config); err != nil {
		return a, err
	}
	a.RequiredTriggers = workflow.RequiredTriggers(a.TriggerType, a.JobIDs)
	err := s.writer.do("create action", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(a.WorkflowID); err != nil {
			return err
		}
		if err := tx.requireIn("job", "job", a.WorkflowID, a.JobIDs...); err != nil {
			return err
		}
		a.ID, err = insertAction(tx, a)
		return err
	})
	return a, err
}

// insertAction stores an action with its jobs as it is.
func insertAction(tx *Tx, a workflow.ActionRecord) (int64, error) {
	id, err := tx.insert(`INSERT INTO workflow_action (workflow_id, trigger_type, action_type, action_config, has_job_ids, trigger_count,
			required_triggers, executed, executed_at, executed_by, persistent, is_recovery) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.WorkflowID, a.TriggerType, a.ActionType, string(a.Config), a.JobIDs != nil, a.TriggerCount,
		a.RequiredTriggers, a.Executed, a.ExecutedAt, a.ExecutedBy, a.Persistent, a.IsRecovery)
	if err != nil {
		return 0, fmt.Errorf("insert action %s of workflow %d: %w", a.TriggerType, a.WorkflowID, err)
	}
	for _, job := range a.JobIDs {
		if _, err := tx.exec(`INSERT INTO workflow_action_job (job_id, action_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, job, id); err != nil {
			return 0, fmt.Errorf("insert job %d of action %d: %w", job, id, err)
		}
	}
	return id, nil
}

// Actions returns the actions of a workflow, by id.
func (s *Store) Actions(ctx context.Context, workflowID int64) ([]workflow.ActionRecord, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, err
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", workflowID, err)
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	rows, err := tx.QueryContext(ctx, `SELECT `+actionColumns+` FROM workflow_action WHERE workflow_id = ? ORDER BY id`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", workflowID, err)
	}
	actions, err := collect(rows, scanAction)
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", workflowID, err)
	}
	rows, err = tx.QueryContext(ctx, `SELECT aj.action_id, aj.job_id FROM workflow_action_job aj JOIN workflow_action a ON a.id = aj.action_id
		WHERE a.workflow_id = ? ORDER BY aj.action_id, aj.job_id`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of actions of workflow %d: %w", workflowID, err)
	}
	if err := addActionJobs(rows, actions); err != nil {
		return nil, fmt.Errorf("list the jobs of actions of workflow %d: %w", workflowID, err)
	}
	return actions, nil
}

// addActionJobs reads (action, job) pairs, by action, into actions, by id.
func addActionJobs(rows *sql.Rows, actions []workflow.ActionRecord) error {
	defer rows.Close()
	i := 0
	for rows.Next() {
		var action, job int64
		if err := rows.Scan(&action, &job); err != nil {
			return err
		}
		for actions[i].ID != action {
			i++
		}
		actions[i].JobIDs = append(actions[i].JobIDs, job)
	}
	return rows.Err()
}

// UpdateActionConfig overlays the config of an action that was not executed
// yet by the keys of patch.
func (s *Store) UpdateActionConfig(_ context.Context, workflowID, id int64, patch json.RawMessage) (workflow.ActionRecord, error) {
	var a workflow.ActionRecord
	err := s.writer.do("update action", func(tx *Tx) (err error) {
		if a, err = getAction(tx, workflowID, id); err != nil {
			return err
		}
		if a.Executed && !a.Persistent {
			return workflow.Errorf(workflow.CodeConflict, "action %d has been executed and cannot be changed", id).
				WithHint("initialize the workflow's jobs anew first")
		}
		if a.Config, err = workflow.MergeActionConfig(a.TriggerType, a.ActionType, a.Config, patch); err != nil {
			return err
		}
		return tx.execOne(`UPDATE workflow_action SET action_config = ? WHERE id = ?`, string(a.Config), id)
	})
	return a, err
}

// DeleteAction deletes an action of a workflow.
func (s *Store) DeleteAction(_ context.Context, workflowID, id int64) error {
	return s.writer.do("delete action", func(tx *Tx) error {
		if _, err := getAction(tx, workflowID, id); err != nil {
			return err
		}
		return tx.execOne(`DELETE FROM workflow_action WHERE id = ?`, id)
	})
}

// ClaimAction gives an action to whoever asks first; a persistent one to
// everybody who asks. The loser gets a conflict.
func (s *Store) ClaimAction(_ context.Context, workflowID, id int64, computeNodeID *int64) error {
	return s.writer.do("claim action", func(tx *Tx) error {
		a, err := getAction(tx, workflowID, id)
		if err != nil {
			return err
		}
		if computeNodeID != nil {
			if err := tx.requireIn("compute_node", "compute node", workflowID, *computeNodeID); err != nil {
				return err
			}
		}
		if a.IsAutoSchedule() {
			return workflow.Errorf(workflow.CodeConflict, "action %d is carried out by the daemon alone", id)
		}
		if a.Persistent {
			return tx.execOne(`UPDATE workflow_action SET executed_at = ? WHERE id = ?`, rfc3339(tx.Now()), id)
		}
		n, err := tx.exec(`UPDATE workflow_action SET executed = 1, executed_at = ?, executed_by = ? WHERE id = ? AND executed = 0`,
			rfc3339(tx.Now()), computeNodeID, id)
		switch {
		case err != nil:
			return fmt.Errorf("claim action %d: %w", id, err)
		case n == 0:
			return workflow.Errorf(workflow.CodeConflict, "Action %d already claimed", id)
		}
		return nil
	})
}

// getAction reads an action of a workflow with its jobs.
func getAction(tx *Tx, workflowID, id int64) (workflow.ActionRecord, error) {
	if err := tx.requireWorkflow(workflowID); err != nil {
		return workflow.ActionRecord{}, err
	}
	a, err := getOne(tx, "workflow_action", id, `SELECT `+actionColumns+` FROM workflow_action WHERE id = ?`, scanAction)
	if err != nil {
		return a, err
	}
	if a.WorkflowID != workflowID {
		return a, workflow.Errorf(workflow.CodeNotFound, "Action %d does not belong to workflow %d", id, workflowID)
	}
	rows, err := tx.query(`SELECT action_id, job_id FROM workflow_action_job WHERE action_id = ? ORDER BY job_id`, id)
	if err != nil {
		return a, fmt.Errorf("read the jobs of action %d: %w", id, err)
	}
	one := []workflow.ActionRecord{a}
	if err := addActionJobs(rows, one); err != nil {
		return a, fmt.Errorf("read the jobs of action %d: %w", id, err)
	}
	return one[0], nil
}
