package store

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// deleteChunk limits the rows that one use case deletes, so that other use cases are not
// delayed.
const deleteChunk = 5000

// Delete deletes a workflow with everything in it and returns it. It disappears at once;
// its rows are deleted in chunks. With ifIdle it returns CodeConflict while something is
// active.
func (s Workflows) Delete(ctx context.Context, id int64, ifIdle bool) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.shared.By(ctx).Do("hide workflow", func(tx *core.Tx) (err error) {
		if w, err = core.GetWorkflow(tx, id); err != nil {
			return err
		}
		if ifIdle {
			if err := requireNoWork(tx, id); err != nil {
				return err
			}
		}
		if err := core.Changed(tx, id, "delete_workflow", map[string]any{"name": w.Name}); err != nil {
			return err
		}
		tx.Changes.Ended = append(tx.Changes.Ended, id)
		if _, err := engine.CancelAllocations(tx, id, "its workflow was deleted"); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE workflow SET is_hidden = 1, create_key = NULL WHERE id = ?`, id)
	})
	if err != nil {
		return w, err
	}
	return w, s.deleteRows(id)
}

// requireNoWork returns CodeConflict while runners hold jobs of a workflow, its allocations
// have not ended, or runners may still be ending processes of a canceled run.
func requireNoWork(tx *core.Tx, id int64) error {
	var work workflow.ActiveWork
	err := tx.Row(`SELECT (SELECT COUNT(*) FROM job WHERE workflow_id = ?1 AND status IN {live} AND child_id IS NULL),
		(SELECT COUNT(*) FROM allocation WHERE workflow_id = ?1 AND state != 'ended'),
		(SELECT COUNT(*) FROM compute_node n JOIN workflow w ON w.id = n.workflow_id AND w.is_canceled = 1
			WHERE n.workflow_id = ?1 AND n.is_active = 1 AND n.runner_key IS NOT NULL)`, []any{id}, &work.Jobs, &work.Allocations, &work.Runners)
	if err != nil {
		return fmt.Errorf("check for activity of workflow %d: %w", id, err)
	}
	if work == (workflow.ActiveWork{}) {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "workflow %d is active: %s", id, work).
		WithHint("wait for its end; `torc-slurm delete %d --force` cancels it first", id)
}

// DeleteLeftovers deletes the rows of workflows whose creation or deletion was interrupted
// by a crash. The daemon calls it before it serves.
func (s Workflows) DeleteLeftovers(ctx context.Context) error {
	ids, err := sqlite.SelectContext(ctx, s.DB.Read, view.ScanID, `SELECT id FROM workflow WHERE is_hidden = 1`)
	if err != nil {
		return fmt.Errorf("read hidden workflows: %w", err)
	}
	for _, id := range ids {
		if err := s.deleteRows(id); err != nil {
			return err
		}
	}
	return nil
}

// ofJobs are the tables whose rows belong to a job.
var ofJobs = []string{"job_input_file", "job_output_file", "job_input_user_data", "job_output_user_data",
	"gate_dependency", "workflow_action_job", "attempt", "failed_recovery", "late_report", "result", "classification"}

// deleteRows deletes the rows of a hidden workflow, children first.
func (s Workflows) deleteRows(id int64) error {
	if err := s.deleteJobRows(id); err != nil {
		return err
	}
	for _, query := range []string{
		`DELETE FROM event WHERE id IN (SELECT id FROM event WHERE workflow_id = ? AND type != 'user_action' LIMIT ?)`,
		`DELETE FROM file WHERE id IN (SELECT id FROM file WHERE workflow_id = ? LIMIT ?)`,
		`DELETE FROM user_data WHERE id IN (SELECT id FROM user_data WHERE workflow_id = ? LIMIT ?)`,
		`DELETE FROM gate WHERE id IN (SELECT id FROM gate WHERE workflow_id = ? LIMIT ?)`,
		`DELETE FROM job_env WHERE id IN (SELECT id FROM job_env WHERE workflow_id = ? LIMIT ?)`,
		`DELETE FROM job_policy WHERE id IN (SELECT id FROM job_policy WHERE workflow_id = ? LIMIT ?)`,
		`DELETE FROM slurm_stats WHERE id IN (SELECT id FROM slurm_stats WHERE workflow_id = ? LIMIT ?)`,
	} {
		for n := int64(deleteChunk); n == deleteChunk; {
			err := s.shared.Do("delete workflow", func(tx *core.Tx) (err error) {
				n, err = tx.Exec(query, id, deleteChunk)
				return err
			})
			if err != nil {
				return fmt.Errorf("delete workflow %d: %w", id, err)
			}
		}
	}
	return s.shared.Do("delete workflow", func(tx *core.Tx) error {
		// A runner that left meanwhile may have logged events.
		if _, err := tx.Exec(`DELETE FROM event WHERE workflow_id = ? AND type != 'user_action'`, id); err != nil {
			return fmt.Errorf("delete the log of workflow %d: %w", id, err)
		}
		if err := forgetChanges(tx); err != nil {
			return err
		}
		// Slurm must still be told to cancel the others.
		if _, err := tx.Exec(`DELETE FROM allocation WHERE workflow_id = ? AND state = 'ended'`, id); err != nil {
			return fmt.Errorf("delete the allocations of workflow %d: %w", id, err)
		}
		// The remaining rows are deleted by cascade.
		_, err := tx.Exec(`DELETE FROM workflow WHERE id = ?`, id)
		return sqlite.Wrap(err, "delete workflow %d", id)
	})
}

// deleteJobRows deletes the jobs of a hidden workflow with their rows.
func (s Workflows) deleteJobRows(id int64) error {
	const jobs = `(SELECT id FROM job WHERE workflow_id = ?1 ORDER BY id LIMIT ?2)`
	for n := int64(deleteChunk); n == deleteChunk; {
		err := s.shared.Do("delete jobs of a workflow", func(tx *core.Tx) (err error) {
			for _, table := range ofJobs {
				if _, err := tx.Exec(`DELETE FROM `+table+` WHERE job_id IN `+jobs, id, deleteChunk); err != nil {
					return fmt.Errorf("from %s: %w", table, err)
				}
			}
			n, err = tx.Exec(`DELETE FROM job WHERE id IN `+jobs, id, deleteChunk)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete the jobs of workflow %d: %w", id, err)
		}
	}
	return nil
}

// changesKept is how long the log says who changed a workflow that has been deleted.
const changesKept = 180 * 24 * time.Hour

// forgetChanges deletes what the log kept of workflows that were deleted long ago.
func forgetChanges(tx *core.Tx) error {
	_, err := tx.Exec(`DELETE FROM event WHERE type = 'user_action' AND timestamp_ms < ? AND NOT EXISTS (SELECT 1 FROM workflow w WHERE w.id = event.workflow_id)`,
		tx.NowMS-changesKept.Milliseconds())
	return sqlite.Wrap(err, "delete old changes of deleted workflows")
}
