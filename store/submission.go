package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// Submit makes the daemon request allocations for the current run of a workflow, until it
// ends. Limits, if given, replace those of its action auto_schedule_on_ready_jobs; a
// workflow without any scheduling action gets one. Submitting again changes the options.
func (s Scheduling) Submit(ctx context.Context, workflowID int64, o compute.SubmitOptions, limits *workflow.AutoSchedule, user string) error {
	if err := o.Validate(); err != nil {
		return err
	}
	options, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", workflowID, err)
	}
	return s.shared.By(ctx).Do("submit workflow", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		if r.Canceled {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: no allocation is requested", workflowID).
				WithHint("start a new run: torc-slurm workflows reset-status")
		}
		policy, err := r.Policy()
		if err != nil {
			return err
		}
		switch off := o.NoAutoSchedule || !policy.AutoSchedules(); {
		case off && limits != nil && *limits != (workflow.AutoSchedule{}):
			return workflow.Errorf(workflow.CodeConflict, "workflow %d requests no allocations beyond those of its actions (auto_schedule: false)", workflowID).
				WithHint("torc-slurm workflows update %d --auto-schedule", workflowID)
		case !off:
			if err := armScheduling(tx, workflowID, limits); err != nil {
				return fmt.Errorf("submit workflow %d: %w", workflowID, err)
			}
		}
		_, err = tx.Exec(`INSERT INTO submission (workflow_id, run_id, submitted_ms, options) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (workflow_id) DO UPDATE SET run_id = ?2, submitted_ms = ?3, options = ?4`,
			workflowID, r.RunID, tx.NowMS, string(options))
		if err != nil {
			return fmt.Errorf("submit workflow %d: %w", workflowID, err)
		}
		tx.Ready(workflowID)
		return core.UserAction(tx, workflowID, user, "submit_workflow", map[string]any{"run_id": r.RunID, "output_dir": o.OutputDir})
	})
}

// armScheduling ensures that an action requests allocations, within limits if there are
// any.
func armScheduling(tx *core.Tx, workflowID int64, limits *workflow.AutoSchedule) error {
	var asks bool
	var auto int64
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM workflow_action WHERE workflow_id = ?1 AND action_type = 'schedule_nodes'),
			COALESCE((SELECT MIN(id) FROM workflow_action WHERE workflow_id = ?1 AND trigger_type = ?2), 0)`,
		[]any{workflowID, action.TriggerAutoSchedule}, &asks, &auto)
	if err != nil || asks && limits == nil {
		return err
	}
	config := action.NodesConfig{SchedulerType: compute.SchedulerSlurm}
	core.Set(&config.AutoSchedule, limits)
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	a := action.Record{WorkflowID: workflowID, TriggerType: action.TriggerAutoSchedule, ActionType: action.ScheduleNodes, RequiredTriggers: 1}
	if auto == 0 {
		a.Config = text
		if err := action.ValidateConfig(a.TriggerType, a.ActionType, a.Config); err != nil {
			return err
		}
		_, err = record.InsertAction(tx, a)
		return err
	}
	if a, err = record.GetAction(tx, workflowID, auto); err != nil {
		return err
	}
	if a.Config, err = action.MergeConfig(a.TriggerType, a.ActionType, a.Config, text); err != nil {
		return err
	}
	return tx.ExecOne(`UPDATE workflow_action SET action_config = ? WHERE id = ?`, string(a.Config), auto)
}

// Note records why jobs of a workflow have no allocations.
func (s Scheduling) Note(_ context.Context, workflowID int64, kind workflow.EventType, p compute.SchedulingPayload) error {
	return s.shared.Do("note scheduling", func(tx *core.Tx) error {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		p.Category = event.CategoryScheduler
		return tx.Event(workflowID, string(kind), event.SeverityWarning, p)
	})
}
