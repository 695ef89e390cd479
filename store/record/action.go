package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// Create stores an action and returns it with its id. The number of triggers that it
// requires follows from its jobs.
func (s Actions) Create(ctx context.Context, a action.Record) (action.Record, error) {
	if err := action.ValidateConfig(a.TriggerType, a.ActionType, a.Config); err != nil {
		return a, err
	}
	a.RequiredTriggers = action.RequiredTriggers(a.TriggerType, a.JobIDs)
	err := s.shared.By(ctx).Do("create action", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, a.WorkflowID); err != nil {
			return err
		}
		if err := core.RequireIn(tx, "job", "job", a.WorkflowID, a.JobIDs...); err != nil {
			return err
		}
		if a.ID, err = InsertAction(tx, a); err != nil {
			return err
		}
		return core.Changed(tx, a.WorkflowID, "create_action", map[string]any{"action_id": a.ID, "trigger": a.TriggerType, "name": a.ActionType})
	})
	return a, err
}

// InsertAction stores an action with its jobs, unchanged.
func InsertAction(tx *core.Tx, a action.Record) (int64, error) {
	id, err := tx.Insert(`INSERT INTO workflow_action (workflow_id, trigger_type, action_type, action_config, has_job_ids, trigger_count,
			required_triggers, executed, executed_at, executed_by, persistent, is_recovery) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.WorkflowID, a.TriggerType, a.ActionType, string(a.Config), a.JobIDs != nil, a.TriggerCount,
		a.RequiredTriggers, a.Executed, a.ExecutedAt, a.ExecutedBy, a.Persistent, a.IsRecovery)
	if err != nil {
		return 0, fmt.Errorf("insert action %s of workflow %d: %w", a.TriggerType, a.WorkflowID, err)
	}
	for _, job := range a.JobIDs {
		if _, err := tx.Exec(`INSERT INTO workflow_action_job (job_id, action_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, job, id); err != nil {
			return 0, fmt.Errorf("insert job %d of action %d: %w", job, id, err)
		}
	}
	return id, nil
}

// List returns the actions of a workflow, by id.
func (s Actions) List(ctx context.Context, workflowID int64) ([]action.Record, error) {
	if err := view.RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, err
	}
	tx, err := s.DB.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", workflowID, err)
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	actions, err := sqlite.SelectContext(ctx, tx, view.ScanAction, `SELECT `+view.ActionColumns+` FROM workflow_action WHERE workflow_id = ? ORDER BY id`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("list the actions of workflow %d: %w", workflowID, err)
	}
	rows, err := tx.QueryContext(ctx, `SELECT aj.action_id, aj.job_id FROM workflow_action_job aj JOIN workflow_action a ON a.id = aj.action_id
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
func addActionJobs(rows *sql.Rows, actions []action.Record) error {
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

// UpdateConfig merges patch into the config of an action; CodeConflict if it has been
// executed.
func (s Actions) UpdateConfig(ctx context.Context, workflowID, id int64, patch json.RawMessage) (action.Record, error) {
	var a action.Record
	err := s.shared.By(ctx).Do("update action", func(tx *core.Tx) (err error) {
		if a, err = GetAction(tx, workflowID, id); err != nil {
			return err
		}
		if a.Executed && !a.Persistent {
			return workflow.Errorf(workflow.CodeConflict, "action %d has been executed and cannot be changed", id).
				WithHint("initialize the workflow's jobs again first")
		}
		if a.Config, err = action.MergeConfig(a.TriggerType, a.ActionType, a.Config, patch); err != nil {
			return err
		}
		if err := core.Changed(tx, workflowID, "update_action", map[string]any{"action_id": id, "name": a.ActionType}); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE workflow_action SET action_config = ? WHERE id = ?`, string(a.Config), id)
	})
	return a, err
}

// Delete deletes an action of a workflow.
func (s Actions) Delete(ctx context.Context, workflowID, id int64) error {
	return s.shared.By(ctx).Do("delete action", func(tx *core.Tx) error {
		a, err := GetAction(tx, workflowID, id)
		if err != nil {
			return err
		}
		if err := core.Changed(tx, workflowID, "delete_action", map[string]any{"action_id": id, "name": a.ActionType}); err != nil {
			return err
		}
		return tx.ExecOne(`DELETE FROM workflow_action WHERE id = ?`, id)
	})
}

// Claim assigns an action to the first caller, a persistent one to every caller. Later
// callers get CodeConflict.
func (s Actions) Claim(_ context.Context, workflowID, id int64, computeNodeID *int64) error {
	return s.shared.Do("claim action", func(tx *core.Tx) error {
		a, err := GetAction(tx, workflowID, id)
		if err != nil {
			return err
		}
		if computeNodeID != nil {
			if err := core.RequireIn(tx, "compute_node", "compute node", workflowID, *computeNodeID); err != nil {
				return err
			}
		}
		if a.IsAutoSchedule() {
			return workflow.Errorf(workflow.CodeConflict, "action %d is executed only by the daemon", id)
		}
		if a.Persistent {
			return tx.ExecOne(`UPDATE workflow_action SET executed_at = ? WHERE id = ?`, view.Rfc3339(tx.NowMS), id)
		}
		n, err := tx.Exec(`UPDATE workflow_action SET executed = 1, executed_at = ?, executed_by = ? WHERE id = ? AND executed = 0`,
			view.Rfc3339(tx.NowMS), computeNodeID, id)
		switch {
		case err != nil:
			return fmt.Errorf("claim action %d: %w", id, err)
		case n == 0:
			return workflow.Errorf(workflow.CodeConflict, "Action %d already claimed", id)
		}
		return nil
	})
}

// GetAction reads an action of a workflow with its jobs.
func GetAction(tx *core.Tx, workflowID, id int64) (action.Record, error) {
	if err := core.RequireWorkflow(tx, workflowID); err != nil {
		return action.Record{}, err
	}
	a, err := core.GetOne(tx, "workflow_action", id, `SELECT `+view.ActionColumns+` FROM workflow_action WHERE id = ?`, view.ScanAction)
	if err != nil {
		return a, err
	}
	if a.WorkflowID != workflowID {
		return a, workflow.Errorf(workflow.CodeNotFound, "Action %d does not belong to workflow %d", id, workflowID)
	}
	rows, err := tx.Query(`SELECT action_id, job_id FROM workflow_action_job WHERE action_id = ? ORDER BY job_id`, id)
	if err != nil {
		return a, fmt.Errorf("read the jobs of action %d: %w", id, err)
	}
	one := []action.Record{a}
	if err := addActionJobs(rows, one); err != nil {
		return a, fmt.Errorf("read the jobs of action %d: %w", id, err)
	}
	return one[0], nil
}

// Take claims a triggered action for the daemon. It returns false if the action is not due
// or somebody else has claimed it. AskedAllocations counts what it requests from now on.
func (s Actions) Take(_ context.Context, workflowID, id int64) (taken bool, err error) {
	err = s.shared.Do("take action", func(tx *core.Tx) error {
		a, err := GetAction(tx, workflowID, id)
		if err != nil {
			return err
		}
		if taken = a.IsPending() && a.TakenMS == 0; !taken {
			return nil
		}
		err = tx.ExecOne(`UPDATE workflow_action SET executed = 1 - persistent, executed_at = ?, taken_ms = ? WHERE id = ?`, view.Rfc3339(tx.NowMS), tx.NowMS, id)
		return sqlite.Wrap(err, "take action %d", id)
	})
	return taken, err
}
