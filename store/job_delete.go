package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Delete deletes a job with its history and returns it. Jobs no longer wait for it; jobs
// skipped because of it stay canceled. It returns CodeConflict if a runner holds the job.
func (s Jobs) Delete(ctx context.Context, id int64, user string) (workflow.Job, error) {
	var j workflow.Job
	err := s.shared.By(ctx).Do("delete job", func(tx *core.Tx) (err error) {
		if j, err = engine.GetJob(tx, id); err != nil {
			return err
		}
		if j.Status.IsLive() {
			return workflow.Errorf(workflow.CodeConflict, "job %d is %s and cannot be deleted", id, j.Status).
				WithHint("cancel the workflow, or wait until the job has ended")
		}
		if j.ChildID != nil {
			return workflow.Errorf(workflow.CodeConflict, "job %d is a sub-workflow and cannot be deleted without its jobs", id).
				WithHint("disable it before the workflow is initialized, or delete the workflow")
		}
		if err := deleteJob(tx, &j); err != nil {
			return err
		}
		return core.UserAction(tx, j.WorkflowID, user, "delete_jobs", map[string]any{"job_id": id, "job_name": j.Name, "deleted_count": 1})
	})
	return j, err
}

func deleteJob(tx *core.Tx, j *workflow.Job) error {
	r, err := core.LoadRun(tx, j.WorkflowID)
	if err != nil {
		return err
	}
	if err := r.RefuseWhileCompensating(); err != nil {
		return err
	}
	gates, err := core.IDsOf(tx, `SELECT gate_id FROM gate_dependency WHERE job_id = ?`, j.ID)
	if err != nil {
		return fmt.Errorf("find the dependents of job %d: %w", j.ID, err)
	}
	actions, err := core.IDsOf(tx, `SELECT action_id FROM workflow_action_job WHERE job_id = ?`, j.ID)
	if err != nil {
		return fmt.Errorf("find the actions of job %d: %w", j.ID, err)
	}
	if err := uncountCauses(tx, j.WorkflowID, j.ID); err != nil {
		return err
	}
	if err := noteDeleted(tx, j); err != nil {
		return err
	}
	for _, table := range append([]string{"slurm_stats"}, ofJobs...) {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE job_id = ?`, j.ID); err != nil {
			return fmt.Errorf("delete job %d from %s: %w", j.ID, table, err)
		}
	}
	if err := tx.ExecOne(`DELETE FROM job WHERE id = ?`, j.ID); err != nil {
		return fmt.Errorf("delete job %d: %w", j.ID, err)
	}
	tx.Count(j.WorkflowID, j.Status, -1)
	for _, gate := range gates {
		if err := narrowGate(tx, j.WorkflowID, gate); err != nil {
			return err
		}
	}
	if err := recountActions(tx, actions); err != nil {
		return err
	}
	if err := forgetCulprit(tx, j); err != nil {
		return err
	}
	return continueWithout(tx, r)
}

// uncountCauses subtracts the attempts of a job from the counts of its workflow.
func uncountCauses(tx *core.Tx, workflowID, job int64) error {
	_, err := tx.Exec(`UPDATE cause_count SET n = cause_count.n - a.n, retried = cause_count.retried - a.retried, counted = cause_count.counted - a.counted
		FROM (SELECT run_id, cause, COUNT(*) AS n, SUM(action IN ('retry', 'recover')) AS retried, SUM(counted) AS counted
			FROM attempt WHERE job_id = ?2 GROUP BY 1, 2) a
		WHERE cause_count.workflow_id = ?1 AND cause_count.run_id = a.run_id AND cause_count.cause = a.cause`, workflowID, job)
	return sqlite.Wrap(err, "count the attempts of workflow %d", workflowID)
}

// noteDeleted adds to the verdict of a stage that one of its jobs was deleted. The next
// start of the stage has a new verdict.
func noteDeleted(tx *core.Tx, j *workflow.Job) error {
	if j.StageID == nil {
		return nil
	}
	_, err := tx.Exec(`UPDATE stage SET verdict = json_set(verdict, '$.deleted_jobs', COALESCE(json_extract(verdict, '$.deleted_jobs'), 0) + 1)
		WHERE id = ? AND state = 'ended' AND verdict IS NOT NULL`, *j.StageID)
	return sqlite.Wrap(err, "record that job %d of stage %d is deleted", j.ID, *j.StageID)
}

// forgetCulprit clears skipped_by of jobs that were skipped because of a deleted job, or
// behind it.
func forgetCulprit(tx *core.Tx, gone *workflow.Job) error {
	if !gone.Status.IsUnsuccessful() {
		return nil
	}
	_, err := tx.Exec(`UPDATE job SET skipped_by = NULL WHERE workflow_id = ?1 AND status IN ({failed}, {canceled}, {terminated}, {pending_failed}) AND skipped_by IS NOT NULL
		AND (skipped_by = ?2 OR NOT EXISTS (SELECT 1 FROM gate g WHERE g.id = job.gate_id AND g.failed > 0))`, gone.WorkflowID, gone.ID)
	return sqlite.Wrap(err, "clear the jobs skipped because of job %d", gone.ID)
}

// narrowGate updates a gate that has lost a dependency. Jobs without dependencies have no
// gate, and two gates with equal dependencies become one.
func narrowGate(tx *core.Tx, workflowID, gate int64) error {
	deps, err := core.IDsOf(tx, `SELECT job_id FROM gate_dependency WHERE gate_id = ? ORDER BY job_id`, gate)
	if err != nil {
		return fmt.Errorf("read the dependencies of gate %d: %w", gate, err)
	}
	var same any
	if len(deps) > 0 {
		hash := row.HashGate(deps)
		var id int64
		err := tx.Row(`SELECT id FROM gate WHERE workflow_id = ? AND hash = ?`, []any{workflowID, hash[:]}, &id)
		if errors.Is(err, sql.ErrNoRows) {
			if err := tx.ExecOne(`UPDATE gate SET hash = ? WHERE id = ?`, hash[:], gate); err != nil {
				return fmt.Errorf("narrow gate %d: %w", gate, err)
			}
			return engine.CountGate(tx, gate)
		}
		if err != nil {
			return fmt.Errorf("find a gate of workflow %d: %w", workflowID, err)
		}
		same = id
	}
	if _, err := tx.Exec(`UPDATE job SET gate_id = ? WHERE gate_id = ?`, same, gate); err != nil {
		return fmt.Errorf("replace gate %d: %w", gate, err)
	}
	err = tx.ExecOne(`DELETE FROM gate WHERE id = ?`, gate)
	return sqlite.Wrap(err, "delete gate %d", gate)
}

// recountActions updates actions that have lost a job. An action without jobs does not
// trigger.
func recountActions(tx *core.Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(`UPDATE workflow_action SET required_triggers = c.n,
			trigger_count = CASE trigger_type WHEN 'on_jobs_ready' THEN c.begun ELSE c.complete END
		FROM (SELECT aj.action_id, COUNT(*) AS n, SUM(j.status NOT IN ({uninitialized}, {blocked})) AS begun, SUM(j.status BETWEEN {completed} AND {disabled}) AS complete
			FROM workflow_action_job aj JOIN job j ON j.id = aj.job_id
			WHERE aj.action_id IN (SELECT value FROM json_each(?)) GROUP BY aj.action_id) c
		WHERE workflow_action.id = c.action_id AND trigger_type IN ('on_jobs_ready', 'on_jobs_complete')`, sqlite.IDList(ids))
	return sqlite.Wrap(err, "count the jobs of actions")
}

// continueWithout continues a workflow after the deletion of a job.
func continueWithout(tx *core.Tx, r *view.Run) error {
	if err := engine.SettleAllBlocked(tx, r); err != nil {
		return err
	}
	counts, err := core.StatusCounts(tx, r.WorkflowID)
	if err != nil || counts.Total() == 0 {
		return err // an empty workflow has not ended
	}
	return engine.EndIfOver(tx, r.WorkflowID)
}

// DeleteAll deletes all jobs of a workflow with their history, and returns how many there
// were. It returns CodeConflict if a runner holds one of them.
func (s Jobs) DeleteAll(ctx context.Context, workflowID int64, user string) (n int64, err error) {
	err = s.shared.By(ctx).Do("delete jobs", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		if err := r.RefuseWhileCompensating(); err != nil {
			return err
		}
		counts, err := core.StatusCounts(tx, workflowID)
		if err != nil {
			return err
		}
		stages, err := engine.RunningStages(tx, workflowID)
		if err != nil {
			return err
		}
		if live := counts.Live() - stages; live > 0 {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d cannot be deleted: %s pending or running", workflowID, workflow.CountOf(live, "job is", "jobs are")).
				WithHint("cancel the workflow, or wait until they have ended")
		}
		n = counts.Total()
		for _, table := range ofJobs {
			if _, err := tx.Exec(`DELETE FROM `+table+` WHERE job_id IN (SELECT id FROM job WHERE workflow_id = ?)`, workflowID); err != nil {
				return fmt.Errorf("delete the jobs of workflow %d from %s: %w", workflowID, table, err)
			}
		}
		for _, table := range []string{"slurm_stats", "cause_count", "job", "stage", "gate", "claim_class", "job_env", "job_policy"} {
			if _, err := tx.Exec(`DELETE FROM `+table+` WHERE workflow_id = ?`, workflowID); err != nil {
				return fmt.Errorf("delete the jobs of workflow %d from %s: %w", workflowID, table, err)
			}
		}
		for status, k := range counts.ByStatus {
			tx.Count(workflowID, workflow.JobStatus(status), -k)
		}
		return core.UserAction(tx, workflowID, user, "delete_jobs", map[string]any{"deleted_count": n})
	})
	return n, err
}
