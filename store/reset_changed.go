package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// ChangedReset is the result of a reset of what has changed.
type ChangedReset struct {
	Workflow workflow.Workflow // at its new run
	Jobs     []string          // that were reset, without those behind, by name
	Files    []string          // that have changed, by path
}

// ResetChanged starts a new run and resets the jobs whose inputs have changed since the last
// one, or whose outputs are gone, in one transaction; it also records the times of the files
// in the options. It returns the errors of ResetAll.
func (s Workflows) ResetChanged(ctx context.Context, id int64, o ResetOptions) (done ChangedReset, err error) {
	err = s.shared.By(ctx).Do("reset what has changed", func(tx *core.Tx) (err error) {
		done, err = resetWhatChanged(tx, id, &o)
		return err
	})
	return done, err
}

// ProposeResetChanged returns what ResetChanged would return, or its error, and changes
// nothing.
func (s Workflows) ProposeResetChanged(ctx context.Context, id int64, o ResetOptions) (done ChangedReset, err error) {
	err = s.shared.Propose("propose a reset of what has changed", func(tx *core.Tx) (err error) {
		done, err = resetWhatChanged(tx, id, &o)
		return err
	})
	return done, err
}

func resetWhatChanged(tx *core.Tx, id int64, o *ResetOptions) (done ChangedReset, err error) {
	if done.Workflow, err = beginRun(tx, id, &o.RunID, o.Force, o.User); err != nil {
		return done, err
	}
	changed, gone, err := changedFiles(tx, id, o.Files)
	if err != nil {
		return done, err
	}
	for _, f := range changed {
		done.Files = append(done.Files, f.Path)
	}
	jobs, err := jobsOfFiles(tx, id, fileIDs(changed), fileIDs(gone))
	if err != nil {
		return done, err
	}
	for _, j := range jobs {
		if err := changeStatus(tx, j.JobID, workflow.Uninitialized, done.Workflow.RunID); err != nil {
			return done, fmt.Errorf("reset job %q: %w", j.Name, err)
		}
		done.Jobs = append(done.Jobs, j.Name)
	}
	r, err := core.LoadRun(tx, id)
	if err != nil {
		return done, err
	}
	hashed, err := view.ChangedHashes(tx.Query, id)
	if err != nil {
		return done, err
	}
	names, ids := view.Resettable(hashed)
	if err := resetChanged(tx, r, ids); err != nil {
		return done, err
	}
	done.Jobs = append(done.Jobs, names...)
	slices.Sort(done.Jobs)
	done.Jobs = slices.Compact(done.Jobs)
	if err := recordTimes(tx, id, o.Files); err != nil {
		return done, err
	}
	return done, core.UserAction(tx, id, o.User, "process_changed_job_inputs", map[string]any{
		"reinitialized_count": len(done.Jobs), "reinitialized_jobs": done.Jobs,
	})
}

// changedFiles returns the files of a workflow that have changed, and those of them that are
// gone.
func changedFiles(tx *core.Tx, id int64, now []artifact.FileTime) (changed, gone []artifact.File, err error) {
	times := make(map[int64]*float64, len(now))
	for _, f := range now {
		times[f.FileID] = f.ModTime
	}
	rows, err := tx.Query(`SELECT f.id, f.path, f.st_mtime,
			EXISTS (SELECT 1 FROM job_output_file o JOIN job p ON p.id = o.job_id WHERE o.file_id = f.id AND p.status = {completed})
		FROM file f WHERE f.workflow_id = ? ORDER BY f.id`, id)
	if err != nil {
		return nil, nil, fmt.Errorf("read the files of workflow %d: %w", id, err)
	}
	defer rows.Close()
	for rows.Next() {
		var f artifact.File
		var completedOutput bool
		if err := rows.Scan(&f.ID, &f.Path, &f.ModTime, &completedOutput); err != nil {
			return nil, nil, fmt.Errorf("read the files of workflow %d: %w", id, err)
		}
		at, given := times[f.ID]
		if !given || !f.HasChanged(at, completedOutput) {
			continue
		}
		changed = append(changed, f)
		if at == nil {
			gone = append(gone, f)
		}
	}
	return changed, gone, rows.Err()
}

func fileIDs(files []artifact.File) (ids []int64) {
	for _, f := range files {
		ids = append(ids, f.ID)
	}
	return ids
}

// jobsOfFiles returns the jobs that have to run again: those that read a changed file, and
// completed ones whose output is gone.
func jobsOfFiles(tx *core.Tx, id int64, changed, gone []int64) ([]core.LeasedJob, error) {
	rows, err := tx.Query(`SELECT `+core.LeaseColumns+` FROM job WHERE workflow_id = ?1 AND status NOT IN ({uninitialized}, {disabled})
		AND (id IN (SELECT job_id FROM job_input_file WHERE file_id IN (SELECT value FROM json_each(?2)))
			OR status = {completed} AND id IN (SELECT job_id FROM job_output_file WHERE file_id IN (SELECT value FROM json_each(?3))))
		ORDER BY id`, id, sqlite.IDList(changed), sqlite.IDList(gone))
	if err != nil {
		return nil, fmt.Errorf("find the jobs of changed files of workflow %d: %w", id, err)
	}
	jobs, err := sqlite.Collect(rows, core.ScanLease)
	if err != nil {
		return nil, fmt.Errorf("find the jobs of changed files of workflow %d: %w", id, err)
	}
	return jobs, nil
}

// recordTimes stores when files of a workflow were modified. A file of another workflow is
// CodeInvalid.
func recordTimes(tx *core.Tx, id int64, files []artifact.FileTime) error {
	for _, f := range files {
		n, err := tx.Exec(`UPDATE file SET st_mtime = ?, size = NULL WHERE id = ? AND workflow_id = ?`, f.ModTime, f.FileID, id)
		switch {
		case err != nil:
			return fmt.Errorf("record the time of file %d: %w", f.FileID, err)
		case n == 0:
			return workflow.Errorf(workflow.CodeInvalid, "workflow %d has no file %d", id, f.FileID)
		}
	}
	return nil
}

// ProcessChangedInputs resets the jobs whose command, environment, relations or input data
// have changed since they were initialized, and returns their names. A dry run only returns
// them. Jobs that a runner holds and disabled jobs are left alone.
func (s Workflows) ProcessChangedInputs(ctx context.Context, workflowID int64, dryRun bool, user string) (names []string, err error) {
	if dryRun {
		return s.ChangedInputs(ctx, workflowID)
	}
	err = s.shared.By(ctx).Do("process changed job inputs", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		jobs, err := view.ChangedHashes(tx.Query, workflowID)
		if err != nil {
			return err
		}
		var ids []int64
		names, ids = view.Resettable(jobs)
		if err := resetChanged(tx, r, ids); err != nil {
			return err
		}
		return core.UserAction(tx, workflowID, user, "process_changed_job_inputs", map[string]any{
			"reinitialized_count": len(names), "reinitialized_jobs": names,
		})
	})
	return names, err
}

func resetChanged(tx *core.Tx, r *view.Run, ids []int64) error {
	n, err := core.MoveJobs(tx, workflow.OpReset, r.WorkflowID, workflow.Uninitialized, engine.AsNew, `status != {uninitialized} AND id IN (SELECT value FROM json_each(?3))`, sqlite.IDList(ids))
	if err != nil {
		return fmt.Errorf("reset jobs with changed inputs: %w", err)
	}
	if n == 0 {
		return nil
	}
	if err := engine.ReopenDependents(tx, r.WorkflowID, ids); err != nil {
		return err
	}
	return engine.EndIfOver(tx, r.WorkflowID) // stages may have incomplete jobs again
}
