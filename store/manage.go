package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// ManageStatusChange lets an operator set a job's status to one that is not complete, and
// voids its lease. If a complete job becomes uninitialized, the jobs that directly depend
// on it and have run are reset too.
func (s Jobs) ManageStatusChange(ctx context.Context, id int64, to workflow.JobStatus, runID int64) (workflow.Job, error) {
	if to.IsComplete() {
		return workflow.Job{}, workflow.Errorf(workflow.CodeInvalid, "Cannot change the status of job_id=%d to %s. Use complete_job", id, to)
	}
	var j workflow.Job
	err := s.shared.By(ctx).Do("manage status change", func(tx *core.Tx) error {
		err := changeStatus(tx, id, to, runID)
		if err != nil {
			return err
		}
		if j, err = engine.GetJob(tx, id); err != nil {
			return err
		}
		return core.Changed(tx, j.WorkflowID, "set_job_status", map[string]any{"job_id": id, "job_name": j.Name, "status": to})
	})
	return j, err
}

// changeStatus sets the status that an operator wants, if the workflow is at this run.
// Setting the current status changes nothing.
func changeStatus(tx *core.Tx, id int64, to workflow.JobStatus, runID int64) error {
	l, err := core.GetOne(tx, "job", id, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	if err != nil || l.Status == to {
		return err
	}
	return manageStatus(tx, &l, to, runID)
}

func manageStatus(tx *core.Tx, l *core.LeasedJob, to workflow.JobStatus, runID int64) error {
	r, err := core.LoadRun(tx, l.WorkflowID)
	if err != nil {
		return err
	}
	if err := r.Require(runID); err != nil {
		return err
	}
	if !workflow.CanTransition(l.Status, to, workflow.OpManage) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d has status=%s and cannot become %s", l.JobID, l.Status, to)
	}
	if l.IsStage && (to.IsLive() || to == workflow.PendingFailed) {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d is a sub-workflow and cannot become %s", l.JobID, to).
			WithHint("make it ready: it runs when its jobs may start")
	}
	if err := engine.RequireCompensationRuns(tx, r, l.JobID); err != nil {
		return err
	}
	if err := engine.RejectBeforeStage(tx, r, l.JobID, to); err != nil {
		return err
	}
	if r.Canceled && to.IsLive() {
		return workflow.Errorf(workflow.CodeConflict, "job_id=%d cannot become %s: workflow %d is canceled", l.JobID, to, r.WorkflowID)
	}
	if l.Status == workflow.Running {
		if err := cutOffByOperator(tx, l, r); err != nil {
			return err
		}
	} else if l.RunnerID.Valid {
		tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, []int64{l.RunnerID.Int64})
	}
	if err := engine.ManageJob(tx, l, to); err != nil {
		return err
	}
	if err := engine.CountTriggers(tx, l.Status, to, []int64{l.JobID}); err != nil {
		return err
	}
	if !l.Status.IsComplete() {
		return engine.SettleJob(tx, r, l.JobID)
	}
	open := []int64{l.JobID}
	if to == workflow.Uninitialized {
		behind, err := engine.ResetJobsBehind(tx, r.WorkflowID, l.JobID)
		if err != nil {
			return fmt.Errorf("reset the dependents of job %d: %w", l.JobID, err)
		}
		open = append(open, behind...)
	}
	if err := engine.ReopenDependents(tx, r.WorkflowID, open); err != nil {
		return err
	}
	return engine.SettleJob(tx, r, l.JobID)
}

// cutOffByOperator records the running attempt that the operator ends.
func cutOffByOperator(tx *core.Tx, l *core.LeasedJob, r *view.Run) error {
	d := workflow.Decision{Action: workflow.ActionNone, Reason: "an operator changed the job's status"}
	return engine.NewFinisher(tx, r).RecordEndedElsewhere(l, failure.ClassifyCanceled(d.Reason, workflow.Evidence{}), d)
}
