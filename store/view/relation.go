package view

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// Dependencies returns a page of the edges of a workflow's graph.
func (s Jobs) Dependencies(ctx context.Context, workflowID int64, page sqlite.Page) ([]workflow.JobDependency, int64, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: `j.id, j.name, d.job_id, p.name, j.workflow_id`,
		From:    `job j JOIN gate_dependency d ON d.gate_id = j.gate_id JOIN job p ON p.id = d.job_id`,
		Filter:  sqlite.Where(`j.workflow_id = ?`, workflowID), ID: "j.id,d.job_id", Page: page,
		Sortable: map[string]string{"job_id": "j.id", "job_name": "j.name", "depends_on_job_id": "d.job_id", "depends_on_job_name": "p.name"},
	}, func(r sqlite.Scanner) (d workflow.JobDependency, err error) {
		return d, r.Scan(&d.JobID, &d.JobName, &d.DependsOnJobID, &d.DependsOnJobName, &d.WorkflowID)
	})
}

// FileRelationships returns a page of a workflow's files with producer and consumer, one
// row per pair. Files with neither are left out.
func (s Jobs) FileRelationships(ctx context.Context, workflowID int64, page sqlite.Page) ([]artifact.JobFileRelationship, int64, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: `f.id, f.name, f.path, p.id, p.name, c.id, c.name, f.workflow_id`,
		From: `file f
			LEFT JOIN job_output_file o ON o.file_id = f.id LEFT JOIN job p ON p.id = o.job_id
			LEFT JOIN job_input_file i ON i.file_id = f.id LEFT JOIN job c ON c.id = i.job_id`,
		Filter: sqlite.Where(`f.workflow_id = ? AND (p.id IS NOT NULL OR c.id IS NOT NULL)`, workflowID), ID: "f.id,p.id,c.id", Page: page,
		Sortable: map[string]string{"file_id": "f.id", "file_name": "f.name", "file_path": "f.path", "producer_job_id": "p.id",
			"producer_job_name": "p.name", "consumer_job_id": "c.id", "consumer_job_name": "c.name"},
	}, func(r sqlite.Scanner) (x artifact.JobFileRelationship, err error) {
		return x, r.Scan(&x.FileID, &x.FileName, &x.FilePath, &x.ProducerJobID, &x.ProducerJobName, &x.ConsumerJobID, &x.ConsumerJobName, &x.WorkflowID)
	})
}

// UserDataRelationships returns a page of a workflow's user data with producer and
// consumer, one row per pair. Records with neither are left out.
func (s Jobs) UserDataRelationships(ctx context.Context, workflowID int64, page sqlite.Page) ([]artifact.JobUserDataRelationship, int64, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: `d.id, d.name, p.id, p.name, c.id, c.name, d.workflow_id`,
		From: `user_data d
			LEFT JOIN job_output_user_data o ON o.user_data_id = d.id LEFT JOIN job p ON p.id = o.job_id
			LEFT JOIN job_input_user_data i ON i.user_data_id = d.id LEFT JOIN job c ON c.id = i.job_id`,
		Filter: sqlite.Where(`d.workflow_id = ? AND (p.id IS NOT NULL OR c.id IS NOT NULL)`, workflowID), ID: "d.id,p.id,c.id", Page: page,
		Sortable: map[string]string{"user_data_id": "d.id", "user_data_name": "d.name", "producer_job_id": "p.id",
			"producer_job_name": "p.name", "consumer_job_id": "c.id", "consumer_job_name": "c.name"},
	}, func(r sqlite.Scanner) (x artifact.JobUserDataRelationship, err error) {
		return x, r.Scan(&x.UserDataID, &x.UserDataName, &x.ProducerJobID, &x.ProducerJobName, &x.ConsumerJobID, &x.ConsumerJobName, &x.WorkflowID)
	})
}

// RequiredExisting returns the ids of the files that must exist: inputs that no job writes,
// and outputs of completed jobs.
func (s Files) RequiredExisting(ctx context.Context, workflowID int64) ([]int64, error) {
	return readIDs(ctx, s.DB, "required files", workflowID, `SELECT f.id FROM file f WHERE f.workflow_id = ?
		AND (EXISTS (SELECT 1 FROM job_output_file o JOIN job p ON p.id = o.job_id WHERE o.file_id = f.id AND p.status = {completed})
			OR EXISTS (SELECT 1 FROM job_input_file i WHERE i.file_id = f.id) AND NOT EXISTS (SELECT 1 FROM job_output_file o WHERE o.file_id = f.id))
		ORDER BY f.id`)
}

// Missing returns the ids of records that have no data but need some, by the rule of
// Files.RequiredExisting.
func (s UserData) Missing(ctx context.Context, workflowID int64) ([]int64, error) {
	return readIDs(ctx, s.DB, "missing user data", workflowID, `SELECT d.id FROM user_data d WHERE d.workflow_id = ? AND d.data IS NULL
		AND (EXISTS (SELECT 1 FROM job_output_user_data o JOIN job p ON p.id = o.job_id WHERE o.user_data_id = d.id AND p.status = {completed})
			OR EXISTS (SELECT 1 FROM job_input_user_data i WHERE i.user_data_id = d.id)
				AND NOT EXISTS (SELECT 1 FROM job_output_user_data o WHERE o.user_data_id = d.id))
		ORDER BY d.id`)
}

// IDs returns the ids of the jobs of a workflow.
func (s Jobs) IDs(ctx context.Context, workflowID int64) ([]int64, error) {
	return readIDs(ctx, s.DB, "jobs", workflowID, `SELECT id FROM job WHERE workflow_id = ? ORDER BY id`)
}

// readIDs runs a query for ids of a workflow.
func readIDs(ctx context.Context, db *sqlite.DB, what string, workflowID int64, query string) ([]int64, error) {
	if err := RequireVisible(ctx, db, workflowID); err != nil {
		return nil, err
	}
	ids, err := sqlite.SelectContext(ctx, db.Read, ScanID, query, workflowID)
	return ids, sqlite.Wrap(err, "list the %s of workflow %d", what, workflowID)
}
