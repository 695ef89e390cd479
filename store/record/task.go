package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

const taskColumns = `id, workflow_id, operation, status, created_at_ms, started_at_ms, finished_at_ms, error`

func scanTask(r sqlite.Scanner) (t workflow.Task, err error) {
	err = r.Scan(&t.ID, &t.WorkflowID, &t.Operation, &t.Status, &t.CreatedAtMS, &t.StartedAtMS, &t.FinishedAtMS, &t.Error)
	return t, err
}

// TaskConflictError reports that another task of the workflow is active.
type TaskConflictError struct {
	Task workflow.Task
}

func (e *TaskConflictError) Error() string {
	return fmt.Sprintf("workflow %d already has the active task %d (%s) with different parameters", e.Task.WorkflowID, e.Task.ID, e.Task.Operation)
}

// Queue stores a task. If the workflow has an active task with the same parameters, it
// returns that one, with isNew false; with others, a TaskConflictError.
func (s Tasks) Queue(_ context.Context, workflowID int64, operation, parameters string) (t workflow.Task, isNew bool, err error) {
	err = s.shared.Do("queue task", func(tx *core.Tx) error {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		var stored string
		err := tx.Row(`SELECT `+taskColumns+`, parameters FROM task WHERE workflow_id = ? AND status IN ('queued', 'running')`, []any{workflowID},
			&t.ID, &t.WorkflowID, &t.Operation, &t.Status, &t.CreatedAtMS, &t.StartedAtMS, &t.FinishedAtMS, &t.Error, &stored)
		switch {
		case err == nil && t.Operation == operation && stored == parameters:
			isNew = false
			return nil
		case err == nil:
			return &TaskConflictError{Task: t}
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("read the active task of workflow %d: %w", workflowID, err)
		}
		t = workflow.Task{WorkflowID: workflowID, Operation: operation, Status: workflow.TaskQueued, CreatedAtMS: tx.NowMS}
		isNew = true
		t.ID, err = tx.Insert(`INSERT INTO task (workflow_id, operation, parameters, status, created_at_ms) VALUES (?, ?, ?, ?, ?)`,
			workflowID, operation, parameters, string(t.Status), t.CreatedAtMS)
		return sqlite.Wrap(err, "insert task %s of workflow %d", operation, workflowID)
	})
	return t, isNew, err
}

// Start records that a queued task is running.
func (s Tasks) Start(_ context.Context, id int64) error {
	return s.shared.Do("start task", func(tx *core.Tx) error {
		err := tx.ExecOne(`UPDATE task SET status = 'running', started_at_ms = ? WHERE id = ? AND status = 'queued'`, tx.NowMS, id)
		return sqlite.Wrap(err, "start task %d", id)
	})
}

// Finish records how an active task ended; failure is empty if it succeeded.
func (s Tasks) Finish(_ context.Context, id int64, failure, user string) error {
	return s.shared.Do("finish task", func(tx *core.Tx) error {
		return finishTask(tx, id, failure, user)
	})
}

func finishTask(tx *core.Tx, id int64, failure, user string) error {
	t, err := core.GetOne(tx, "task", id, `SELECT `+taskColumns+` FROM task WHERE id = ?`, scanTask)
	if err != nil {
		return err
	}
	status, severity, message := workflow.TaskSucceeded, event.SeverityInfo, "Task "+t.Operation+" succeeded"
	var reason *string
	if failure != "" {
		status, severity, message, reason = workflow.TaskFailed, event.SeverityError, "Task "+t.Operation+" failed", &failure
	}
	err = tx.ExecOne(`UPDATE task SET status = ?, finished_at_ms = ?, error = ? WHERE id = ? AND status IN ('queued', 'running')`,
		string(status), tx.NowMS, reason, id)
	if err != nil {
		return fmt.Errorf("finish task %d: %w", id, err)
	}
	data := map[string]any{
		"category": event.CategoryTasks, "type": string(workflow.EventTaskCompleted), "task_id": id, "operation": t.Operation,
		"status": string(status), "user": user, "message": message,
	}
	if reason != nil {
		data["error"] = failure
	}
	return tx.Event(t.WorkflowID, string(workflow.EventTaskCompleted), severity, data)
}

// FailInterrupted ends the tasks that an earlier daemon left active, and returns how many
// there were. The daemon calls it at its start.
func (s Tasks) FailInterrupted(_ context.Context) (n int, err error) {
	err = s.shared.Do("fail interrupted tasks", func(tx *core.Tx) error {
		ids, err := sqlite.Select(tx, view.ScanID, `SELECT id FROM task WHERE status IN ('queued', 'running') ORDER BY id`)
		if err != nil {
			return fmt.Errorf("read interrupted tasks: %w", err)
		}
		n = len(ids)
		for _, id := range ids {
			if err := finishTask(tx, id, "server restarted while task was in progress", "unknown"); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// Get returns a task.
func (s Tasks) Get(ctx context.Context, id int64) (workflow.Task, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "task", id, `SELECT `+taskColumns+` FROM task WHERE id = ?`, scanTask)
}

// Active returns the queued or running task of a workflow; nil if there is none.
func (s Tasks) Active(ctx context.Context, workflowID int64) (*workflow.Task, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, workflowID); err != nil {
		return nil, err
	}
	t, err := scanTask(s.shared.DB.Read.QueryRowContext(ctx,
		`SELECT `+taskColumns+` FROM task WHERE workflow_id = ? AND status IN ('queued', 'running')`, workflowID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the active task of workflow %d: %w", workflowID, err)
	}
	return &t, nil
}
