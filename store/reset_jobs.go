package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// JobsResetOptions configure a reset of chosen jobs.
type JobsResetOptions struct { // the workflow must be at this run
	RunID      int64   // that the workflow must be at
	Expected   []JobAt // jobs that must not have changed since
	Force      bool    // even if jobs are live or have changed, or runners are active
	Initialize bool    // start a new run with the jobs, if all were reset
	User       string  // for the event
}

// JobsReset is the result of a reset of chosen jobs.
type JobsReset struct {
	Reset   []int64
	Refused []JobRefusal // jobs that stay as they are
	// Obstacle is why nothing is reset unless forced; nil: there is none.
	Obstacle    *workflow.Error
	Initialized bool
	// NotInitialized is why the requested run was not started.
	NotInitialized error
}

// JobRefusal is why a job was not changed.
type JobRefusal struct {
	JobID int64
	Err   error // that rejects this job
}

// ResetChosen resets jobs of a workflow like ManageStatusChange, in one transaction. A job
// that cannot be reset is reported, and the others are reset, even if no run can be started
// with them. It returns CodeInvalid for a job of another workflow, and CodeConflict if
// another run was started or, unless forced, if a job has changed or there is an obstacle.
// On an error nothing has changed.
func (s Workflows) ResetChosen(ctx context.Context, id int64, jobs []int64, o JobsResetOptions) (reset JobsReset, err error) {
	err = s.shared.By(ctx).Do("reset chosen jobs", func(tx *core.Tx) (err error) {
		reset, err = resetChosen(tx, id, jobs, &o, o.Force)
		return err
	})
	return reset, err
}

// ProposeResetChosen returns what ResetChosen would return without obstacles, or its error,
// and changes nothing.
func (s Workflows) ProposeResetChosen(_ context.Context, id int64, jobs []int64, o JobsResetOptions) (reset JobsReset, err error) {
	err = s.shared.Propose("propose a reset of chosen jobs", func(tx *core.Tx) (err error) {
		reset, err = resetChosen(tx, id, jobs, &o, true)
		return err
	})
	return reset, err
}

// resetChosen resets jobs of a workflow; in spite of obstacles if whatever is set.
func resetChosen(tx *core.Tx, id int64, jobs []int64, o *JobsResetOptions, whatever bool) (reset JobsReset, err error) {
	w, err := core.GetWorkflow(tx, id)
	if err != nil {
		return reset, err
	}
	if w.RunID != o.RunID {
		return reset, workflow.Errorf(workflow.CodeConflict, "workflow %d is at run %d, not at run %d; nothing was reset", id, w.RunID, o.RunID).
			WithHint("choose the jobs again")
	}
	if !o.Force {
		if err := refuseChanged(tx, id, o.Expected); err != nil {
			return reset, err
		}
	}
	chosen, err := chosenJobs(tx, id, jobs)
	if err != nil {
		return reset, err
	}
	if reset.Obstacle, err = resetObstacle(tx, id, chosen); err != nil {
		return reset, err
	}
	if reset.Obstacle != nil && !whatever {
		return reset, reset.Obstacle
	}
	for _, job := range jobs {
		err := tx.Savepoint(func() error { return changeStatus(tx, job, workflow.Uninitialized, o.RunID) })
		switch {
		case err == nil:
			reset.Reset = append(reset.Reset, job)
		case refusalOf(err) != nil:
			reset.Refused = append(reset.Refused, JobRefusal{job, err})
		default:
			return reset, fmt.Errorf("reset job %d: %w", job, err)
		}
	}
	if !o.Initialize || len(reset.Refused) > 0 {
		return reset, nil
	}
	err = tx.Savepoint(func() error {
		if _, err := beginRun(tx, id, &o.RunID, o.Force, o.User); err != nil {
			return err
		}
		return engine.InitializeJobs(tx, id, engine.InitializeOptions{OnlyUninitialized: true, User: o.User})
	})
	if refusalOf(err) != nil {
		reset.NotInitialized = err
		return reset, nil //nolint:nilerr // it is part of the answer
	}
	reset.Initialized = err == nil
	return reset, err
}

// chosenJobs reads jobs of a workflow.
func chosenJobs(tx *core.Tx, id int64, jobs []int64) ([]core.LeasedJob, error) {
	chosen := make([]core.LeasedJob, len(jobs))
	for i, job := range jobs {
		j, err := core.GetOne(tx, "job", job, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
		if err != nil {
			return nil, err
		}
		if j.WorkflowID != id {
			return nil, workflow.Errorf(workflow.CodeInvalid, "job %d does not belong to workflow %d", job, id)
		}
		chosen[i] = j
	}
	return chosen, nil
}

// refuseChanged returns CodeConflict if jobs of a workflow do not have the expected status.
func refuseChanged(tx *core.Tx, id int64, expected []JobAt) error {
	ids := make([]int64, len(expected))
	for i, e := range expected {
		ids[i] = e.ID
	}
	jobs, err := chosenJobs(tx, id, ids)
	if err != nil {
		return err
	}
	for i, e := range expected {
		if j := &jobs[i]; j.Status != e.Status {
			return workflow.Errorf(workflow.CodeConflict, "job %d (%s) is now %s; nothing was reset", j.JobID, j.Name, j.Status).
				WithHint("choose the jobs again, or reset them in any status with --force")
		}
	}
	return nil
}

// resetObstacle returns which runners are active; nil if none is.
func resetObstacle(tx *core.Tx, id int64, jobs []core.LeasedJob) (*workflow.Error, error) {
	for i := range jobs {
		if j := &jobs[i]; j.Status.IsLive() {
			return workflow.Errorf(workflow.CodeConflict, "job %d (%s) is %s", j.JobID, j.Name, j.Status).
				WithHint("wait for it, or take it from its runner with --force"), nil
		}
	}
	var runners int64
	err := tx.Row(`SELECT COUNT(*) FROM compute_node WHERE workflow_id = ? AND is_active = 1`, []any{id}, &runners)
	if err != nil {
		return nil, fmt.Errorf("count the runners of workflow %d: %w", id, err)
	}
	if runners == 0 {
		return nil, nil
	}
	return workflow.Errorf(workflow.CodeConflict, "%s active in workflow %d", workflow.CountOf(runners, "runner is", "runners are"), id).
		WithHint("wait for their end, or reset the jobs with --force"), nil
}
