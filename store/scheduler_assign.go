package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// SchedulerAssignment is a Slurm scheduler and the jobs to assign it to. One without an id
// is created.
type SchedulerAssignment struct {
	Scheduler compute.SlurmScheduler
	JobIDs    []int64
}

// AssignSchedulers creates Slurm schedulers of a workflow, assigns them to jobs, and
// returns their ids, in one transaction. It returns CodeNotFound for a job that does not
// exist, and CodeInvalid for a job or a scheduler of another workflow.
func (s Scheduling) AssignSchedulers(ctx context.Context, workflowID int64, assignments []SchedulerAssignment) (ids []int64, err error) {
	err = s.shared.By(ctx).Do("assign Slurm schedulers", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		ids = make([]int64, len(assignments))
		for i := range assignments {
			if ids[i], err = assignScheduler(tx, workflowID, &assignments[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

func assignScheduler(tx *core.Tx, workflowID int64, a *SchedulerAssignment) (id int64, err error) {
	if id = a.Scheduler.ID; id == 0 {
		made := a.Scheduler
		made.WorkflowID = workflowID
		if id, err = record.InsertSlurmScheduler(tx, made); err != nil {
			return 0, err
		}
	}
	for _, job := range a.JobIDs {
		j, err := engine.GetJob(tx, job)
		if err != nil {
			return 0, err
		}
		if j.WorkflowID != workflowID {
			return 0, workflow.Errorf(workflow.CodeInvalid, "job %d does not belong to workflow %d", job, workflowID)
		}
		if j.SchedulerID != nil && *j.SchedulerID == id {
			continue
		}
		if err := updateClass(tx, &j, &workflow.JobUpdate{SchedulerID: &id}); err != nil {
			return 0, fmt.Errorf("assign Slurm scheduler %s to job %d: %w", a.Scheduler.Name, job, err)
		}
	}
	return id, nil
}
