package view

import (
	"context"
	"database/sql"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Running returns a page of the running jobs of a workflow with their nodes, by job id.
// Jobs whose node is unknown are left out.
func (s Jobs) Running(ctx context.Context, workflowID int64, page sqlite.Page) ([]workflow.RunningJob, int64, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: `j.id, j.name, n.id, n.hostname, n.compute_node_type, CAST(a.scheduler_id AS TEXT), j.start_ms`,
		From: `job j JOIN compute_node n ON n.id = j.compute_node_id
			LEFT JOIN scheduled_compute_node a ON a.id = json_extract(n.scheduler, '$.scheduler_id') AND a.workflow_id = n.workflow_id`,
		Filter: sqlite.Where(`j.workflow_id = ? AND j.status = {running}`, workflowID), ID: "j.id", Page: page,
	}, func(r sqlite.Scanner) (j workflow.RunningJob, err error) {
		var start sql.NullInt64
		err = r.Scan(&j.JobID, &j.JobName, &j.ComputeNodeID, &j.ComputeNodeName, &j.SchedulerType, &j.SchedulerJobID, &start)
		if start.Valid {
			j.StartTime = new(Rfc3339(start.Int64))
		}
		return j, err
	})
}

// JobCorrelations returns a page of the pairs of job and Slurm job, over all runs.
func (s SlurmStats) JobCorrelations(ctx context.Context, workflowID int64, page sqlite.Page) ([]compute.SlurmJobCorrelation, int64, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: `slurm_job_id, job_id, job_name`,
		From: `(SELECT DISTINCT a.workflow_id, CAST(a.scheduler_id AS TEXT) AS slurm_job_id, j.id AS job_id, j.name AS job_name
			FROM scheduled_compute_node a
				JOIN compute_node n ON n.workflow_id = a.workflow_id AND n.compute_node_type = 'slurm' AND json_extract(n.scheduler, '$.scheduler_id') = a.id
				JOIN result r ON r.compute_node_id = n.id
				JOIN job j ON j.id = r.job_id
			WHERE a.scheduler_type = 'slurm')`,
		Filter: sqlite.Where(`workflow_id = ?`, workflowID), ID: "slurm_job_id,job_id", Page: page,
	}, func(r sqlite.Scanner) (c compute.SlurmJobCorrelation, err error) {
		return c, r.Scan(&c.SlurmJobID, &c.JobID, &c.JobName)
	})
}
