package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Update changes a job and returns it. Name, command and dependencies can change while it
// is uninitialized, and it can be disabled then. Environment, files and user data cannot
// change. Setting the status of a held job to ready or failed classifies it.
func (s Jobs) Update(ctx context.Context, id int64, u workflow.JobUpdate) (workflow.Job, error) {
	if u.Priority != nil && *u.Priority < 0 {
		return workflow.Job{}, workflow.Errorf(workflow.CodeInvalid, "job %d: priority must not be negative, but is %d", id, *u.Priority)
	}
	if u.Labels != nil {
		labels, err := workflow.NormalizeLabels(u.Labels)
		if err != nil {
			return workflow.Job{}, fmt.Errorf("job %d: %w", id, err)
		}
		if u.Labels = labels; labels == nil {
			u.Labels = []string{}
		}
	}
	var j workflow.Job
	err := s.shared.By(ctx).Do("update job", func(tx *core.Tx) (err error) {
		u := u
		if err := classifyByUpdate(tx, id, &u); err != nil {
			return err
		}
		if j, err = engine.GetJob(tx, id); err != nil {
			return err
		}
		if err := checkJobUpdate(&j, &u); err != nil {
			return err
		}
		before := j
		if err := updateJob(tx, &j, &u); err != nil {
			return err
		}
		if j, err = engine.GetJob(tx, id); err != nil {
			return err
		}
		return core.Updated(tx, j.WorkflowID, "update_job", map[string]any{"job_id": id, "job_name": before.Name}, before, j)
	})
	return j, err
}

// checkJobUpdate rejects changes that the job's status does not permit.
func checkJobUpdate(j *workflow.Job, u *workflow.JobUpdate) error {
	sent := [4][]int64{u.InputFiles, u.OutputFiles, u.InputUserData, u.OutputUserData}
	for i, list := range view.LinksOf(j) {
		if sent[i] != nil && !slices.Equal(core.IDSet(sent[i]), *list) {
			name := [4]string{"input_file_ids", "output_file_ids", "input_user_data_ids", "output_user_data_ids"}[i]
			return workflow.Errorf(workflow.CodeInvalid, "Cannot modify %s of job %d: it is immutable", name, j.ID)
		}
	}
	if u.Env != nil && !maps.Equal(u.Env, j.Env) {
		return workflow.Errorf(workflow.CodeInvalid, "Cannot modify env of job %d: it is immutable", j.ID)
	}
	var changed []string
	if u.Name != nil && *u.Name != j.Name {
		if err := workflow.CheckName("job", *u.Name); err != nil {
			return err
		}
		changed = append(changed, "name")
	}
	if u.Command != nil && *u.Command != j.Command {
		changed = append(changed, "command")
	}
	if u.DependsOn != nil && !slices.Equal(core.IDSet(u.DependsOn), j.DependsOn) {
		changed = append(changed, "depends_on_job_ids")
	}
	if u.Status != nil && *u.Status != j.Status {
		if *u.Status != workflow.Disabled {
			return workflow.Errorf(workflow.CodeInvalid, "Cannot update job status of job %d from %s to %s: the status is immutable here", j.ID, j.Status, *u.Status).
				WithHint("only disabled can be set; the engine sets the others")
		}
		changed = append(changed, "status")
	}
	if len(changed) > 0 && j.Status != workflow.Uninitialized {
		return workflow.Errorf(workflow.CodeInvalid, "Cannot modify %s of job %d: it must be uninitialized, but is %s",
			strings.Join(changed, ", "), j.ID, j.Status).WithHint("reset the job first")
	}
	return nil
}

// updateJob changes a job that was just read.
func updateJob(tx *core.Tx, j *workflow.Job, u *workflow.JobUpdate) error {
	if err := updateClass(tx, j, u); err != nil {
		return err
	}
	core.Set(&j.Name, u.Name)
	core.Set(&j.Command, u.Command)
	j.UpdateSettings(u.JobSettings)
	j.UpdateTorc(u.TorcJob)
	if cancel := u.CancelOnBlockingJobFailure; cancel != nil && *cancel != j.RunIf.CancelOnFailure() {
		j.RunIf = workflow.RunIfOf(*cancel)
	}
	core.Set(&j.RunIf, u.RunIf)
	err := tx.ExecOne(`UPDATE job SET name = ?, command = ?, run_if = ?, torc_extra = ?, `+strings.Join(row.JobSettingColumns(), " = ?, ")+` = ?
		WHERE id = ?`, slices.Concat([]any{j.Name, j.Command, int64(j.RunIf), row.TorcExtra{Keys: &j.TorcJob}}, row.JobSettings(&j.JobSettings), []any{j.ID})...)
	if err != nil {
		return fmt.Errorf("update job %d: %w", j.ID, err)
	}
	if deps := core.IDSet(u.DependsOn); u.DependsOn != nil && !slices.Equal(deps, j.DependsOn) {
		if err := checkDependencies(tx, j, deps); err != nil {
			return err
		}
		if err := setDependencies(tx, j.WorkflowID, j.ID, deps); err != nil {
			return err
		}
	}
	if u.Status != nil && *u.Status != j.Status {
		return disableJobs(tx, j)
	}
	return nil
}

// updateClass changes the properties that matter for claims.
func updateClass(tx *core.Tx, j *workflow.Job, u *workflow.JobUpdate) error {
	if u.ResourceRequirementsID == nil && u.SchedulerID == nil && u.Priority == nil && u.Labels == nil {
		return nil
	}
	core.Set(&j.Priority, u.Priority)
	if u.ResourceRequirementsID != nil {
		if err := core.RequireIn(tx, "resource_requirements", "resource requirements", j.WorkflowID, *u.ResourceRequirementsID); err != nil {
			return err
		}
		j.ResourceRequirementsID = u.ResourceRequirementsID
	}
	if u.SchedulerID != nil {
		if err := checkScheduler(tx, j.WorkflowID, *u.SchedulerID); err != nil {
			return err
		}
		j.SchedulerID = u.SchedulerID
	}
	if u.Labels != nil {
		j.Labels = u.Labels
	}
	class, err := core.ClassOf(tx, j.WorkflowID, classKeyOf(j))
	if err != nil {
		return err
	}
	if err := tx.ExecOne(`UPDATE job SET class_id = ? WHERE id = ?`, class, j.ID); err != nil {
		return fmt.Errorf("change the class of job %d: %w", j.ID, err)
	}
	if j.Status == workflow.Ready {
		tx.Ready(j.WorkflowID)
	}
	return nil
}

// checkDependencies rejects dependencies that are not jobs of the workflow, or that would
// close a cycle.
func checkDependencies(tx *core.Tx, j *workflow.Job, deps []int64) error {
	if slices.Contains(deps, j.ID) {
		return workflow.Errorf(workflow.CodeInvalid, "job %d cannot depend on itself", j.ID)
	}
	if err := core.RequireIn(tx, "job", "job", j.WorkflowID, deps...); err != nil {
		return err
	}
	// Walk up from the dependencies, gate by gate.
	var through int64
	err := tx.Row(`WITH RECURSIVE above (gate_id, via) AS (
			SELECT gate_id, id FROM job WHERE id IN (SELECT value FROM json_each(?1)) AND gate_id IS NOT NULL
			UNION
			SELECT x.gate_id, a.via FROM above a JOIN gate_dependency d ON d.gate_id = a.gate_id JOIN job x ON x.id = d.job_id
				WHERE x.gate_id IS NOT NULL)
		SELECT a.via FROM above a JOIN gate_dependency d ON d.gate_id = a.gate_id WHERE d.job_id = ?2 LIMIT 1`,
		[]any{sqlite.IDList(deps), j.ID}, &through)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check the dependencies of job %d: %w", j.ID, err)
	}
	return workflow.Errorf(workflow.CodeInvalid, "job %d cannot depend on job %d, which depends on it", j.ID, through)
}

// setDependencies replaces a job's dependencies. The caller updates its status.
func setDependencies(tx *core.Tx, workflowID, id int64, deps []int64) error {
	var gate any
	if len(deps) > 0 {
		found, err := engine.GateOf(tx, workflowID, deps)
		if err != nil {
			return err
		}
		gate = found
	}
	if err := tx.ExecOne(`UPDATE job SET gate_id = ? WHERE id = ?`, gate, id); err != nil {
		return fmt.Errorf("set the dependencies of job %d: %w", id, err)
	}
	return checkSameStage(tx, workflowID, id, id)
}

// disableJobs excludes an uninitialized job from its workflow's runs.
func disableJobs(tx *core.Tx, j *workflow.Job) error {
	if err := engine.DisableJob(tx, j.WorkflowID, j.ID); err != nil {
		return fmt.Errorf("disable job %d: %w", j.ID, err)
	}
	return engine.ReleaseDependents(tx, j.WorkflowID, []engine.Completed{{ID: j.ID, From: workflow.Uninitialized, To: workflow.Disabled}})
}
