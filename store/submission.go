package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Submit has the daemon ask for the allocations of a workflow's run, from now
// until the run ends or a new one begins. Limits, if given, are those of its
// action auto_schedule_on_ready_jobs; a workflow without any action that asks
// for allocations gets such a one. Submitting again changes the options.
func (s *Store) Submit(_ context.Context, workflowID int64, o workflow.SubmitOptions, limits *workflow.AutoSchedule, user string) error {
	if err := o.Validate(); err != nil {
		return err
	}
	options, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", workflowID, err)
	}
	return s.writer.do("submit workflow", func(tx *Tx) error {
		r, err := tx.run(workflowID)
		if err != nil {
			return err
		}
		if r.canceled {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: no allocation is asked for", workflowID).
				WithHint("begin a new run: torc-slurm workflows reset-status")
		}
		policy, err := r.policy()
		if err != nil {
			return err
		}
		switch off := o.NoAutoSchedule || !policy.LooksAfter(); {
		case off && limits != nil && *limits != (workflow.AutoSchedule{}):
			return workflow.Errorf(workflow.CodeConflict, "workflow %d is not to be asked more for than its actions ask for once (auto_schedule: false)", workflowID).
				WithHint("torc-slurm workflows update %d --auto-schedule", workflowID)
		case !off:
			if err := tx.armScheduling(workflowID, limits); err != nil {
				return fmt.Errorf("submit workflow %d: %w", workflowID, err)
			}
		}
		_, err = tx.exec(`INSERT INTO submission (workflow_id, run_id, submitted_ms, options) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (workflow_id) DO UPDATE SET run_id = ?2, submitted_ms = ?3, options = ?4`,
			workflowID, r.runID, tx.nowMS, string(options))
		if err != nil {
			return fmt.Errorf("submit workflow %d: %w", workflowID, err)
		}
		tx.ready(workflowID)
		return tx.userAction(workflowID, user, "submit_workflow", map[string]any{"run_id": r.runID, "output_dir": o.OutputDir})
	})
}

// armScheduling sees to it that some action asks for allocations, within
// limits if there are any.
func (tx *Tx) armScheduling(workflowID int64, limits *workflow.AutoSchedule) error {
	var asks bool
	var auto int64
	err := tx.row(`SELECT EXISTS (SELECT 1 FROM workflow_action WHERE workflow_id = ?1 AND action_type = 'schedule_nodes'),
			COALESCE((SELECT MIN(id) FROM workflow_action WHERE workflow_id = ?1 AND trigger_type = ?2), 0)`,
		[]any{workflowID, workflow.TriggerAutoSchedule}, &asks, &auto)
	if err != nil || asks && limits == nil {
		return err
	}
	config := workflow.ScheduleNodes{SchedulerType: workflow.SchedulerSlurm}
	set(&config.AutoSchedule, limits)
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	a := workflow.ActionRecord{WorkflowID: workflowID, TriggerType: workflow.TriggerAutoSchedule, ActionType: workflow.ActionScheduleNodes, RequiredTriggers: 1}
	if auto == 0 {
		a.Config = text
		if err := workflow.ValidateActionConfig(a.TriggerType, a.ActionType, a.Config); err != nil {
			return err
		}
		_, err = insertAction(tx, a)
		return err
	}
	if a, err = getAction(tx, workflowID, auto); err != nil {
		return err
	}
	if a.Config, err = workflow.MergeActionConfig(a.TriggerType, a.ActionType, a.Config, text); err != nil {
		return err
	}
	return tx.execOne(`UPDATE workflow_action SET action_config = ? WHERE id = ?`, string(a.Config), auto)
}

const submissionColumns = `s.workflow_id, s.run_id, s.submitted_ms, s.options`

func scanSubmission(r rowScanner) (s workflow.Submission, err error) {
	var options string
	if err := r.Scan(&s.WorkflowID, &s.RunID, &s.SubmittedMS, &options); err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(options), &s.Options); err != nil {
		return s, fmt.Errorf("read the submission of workflow %d: %w", s.WorkflowID, err)
	}
	return s, nil
}

// Submission returns how the current run of a workflow was submitted; nil if it
// was not.
func (s *Store) Submission(ctx context.Context, workflowID int64) (*workflow.Submission, error) {
	found, err := scanSubmission(s.read.QueryRowContext(ctx, `SELECT `+submissionColumns+` FROM submission s JOIN workflow w ON w.id = s.workflow_id
		WHERE w.id = ? AND w.run_id = s.run_id AND w.is_hidden = 0`, workflowID))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the submission of workflow %d: %w", workflowID, err)
	}
	return &found, nil
}

// NoAutoSchedule reports whether the latest submission of a workflow, in whichever run,
// wanted no more asked for than its actions ask for once.
func (s *Store) NoAutoSchedule(ctx context.Context, workflowID int64) (bool, error) {
	latest, err := scanSubmission(s.read.QueryRowContext(ctx, `SELECT `+submissionColumns+` FROM submission s WHERE s.workflow_id = ?`, workflowID))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read the submission of workflow %d: %w", workflowID, err)
	}
	return latest.Options.NoAutoSchedule, nil
}

// Scheduled returns the workflows whose allocations the daemon has to look
// after: submitted ones whose run goes on or is being undone, and those that have ended and still
// wait for allocations.
func (s *Store) Scheduled(ctx context.Context) ([]int64, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT w.id FROM submission s JOIN workflow w ON w.id = s.workflow_id
			WHERE w.run_id = s.run_id AND w.is_hidden = 0 AND (w.has_ended = 0 AND w.is_canceled = 0
				OR EXISTS (SELECT 1 FROM compensation c WHERE c.workflow_id = w.id AND c.run_id = w.run_id AND c.state IN ('waiting', 'running')))
		UNION SELECT w.id FROM allocation a JOIN workflow w ON w.id = a.workflow_id
			WHERE a.state IN ('intent', 'pending') AND a.cancel_ms = 0 AND w.has_ended = 1 AND w.is_hidden = 0
				AND w.compute_node_ignore_workflow_completion = 0
		ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("list submitted workflows: %w", err)
	}
	ids, err := collect(rows, func(r rowScanner) (id int64, err error) { return id, r.Scan(&id) })
	if err != nil {
		return nil, fmt.Errorf("list submitted workflows: %w", err)
	}
	return ids, nil
}

// NoteScheduling records what keeps jobs of a workflow without allocations.
func (s *Store) NoteScheduling(_ context.Context, workflowID int64, kind workflow.EventType, p workflow.SchedulingPayload) error {
	return s.writer.do("note scheduling", func(tx *Tx) error {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		p.Category = workflow.CategoryScheduler
		return tx.event(workflowID, string(kind), workflow.SeverityWarning, p)
	})
}
