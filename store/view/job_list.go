package view

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// JobFilter selects jobs of a workflow. Nil fields match all.
type JobFilter struct {
	WorkflowID          int64
	Status              *workflow.JobStatus
	NeedsFile           *int64 // jobs that read this file
	UpstreamJob         *int64 // jobs that depend on this job
	ActiveComputeNodeID *int64 // jobs that run on this node
	HeldInAllocation    *int64 // jobs that runners of this allocation hold
	OriginIsSet         *bool
	Name                *string
	Command             *string   // a substring
	Labels              *[]string // jobs that a runner with exactly these labels could claim; normalized
	WithRelations       bool      // also read the relations
}

// List returns a page of the jobs of a workflow, and how many match in all.
func (s Jobs) List(ctx context.Context, q JobFilter, page sqlite.Page) ([]workflow.Job, int64, error) {
	if err := RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	f, err := jobFilter(ctx, tx, q)
	if err != nil {
		return nil, 0, fmt.Errorf("list the jobs of workflow %d: %w", q.WorkflowID, err)
	}
	sortable := map[string]string{
		"workflow_id": "j.workflow_id", "name": "j.name", "command": "j.command",
		"env": "e.env", "status": "j.status", "cancel_on_blocking_job_failure": "j.run_if = 0",
		"supports_termination": "COALESCE(j.torc_extra ->> 'supports_termination', 0)", "resource_requirements_id": "c.requirements_id",
		"scheduler_id": "c.scheduler_id", "failure_handler_id": "j.failure_handler_id", "attempt_id": "j.attempt_id",
	}
	for _, column := range row.JobSettingColumns() {
		sortable[column] = "j." + column
	}
	jobs, total, err := sqlite.ReadPage(ctx, tx, sqlite.List{
		Columns: JobColumns, From: JobTables, Filter: f, ID: "j.id", Page: page, Sortable: sortable,
	}, new(JobScanner).Scan)
	if err != nil {
		return nil, 0, err
	}
	if q.WithRelations {
		if err := AddRelations(reader(ctx, tx), jobs); err != nil {
			return nil, 0, fmt.Errorf("read the relations of jobs of workflow %d: %w", q.WorkflowID, err)
		}
	}
	return jobs, total, nil
}

func jobFilter(ctx context.Context, tx *sql.Tx, q JobFilter) (*sqlite.Filter, error) {
	f := sqlite.Where(`j.workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "j.status", q.Status)
	sqlite.Equal(f, "j.name", q.Name)
	sqlite.Contains(f, "j.command", q.Command)
	if q.NeedsFile != nil {
		f.Add(`j.id IN (SELECT job_id FROM job_input_file WHERE file_id = ?)`, *q.NeedsFile)
	}
	if q.UpstreamJob != nil {
		f.Add(`j.gate_id IN (SELECT gate_id FROM gate_dependency WHERE job_id = ?)`, *q.UpstreamJob)
	}
	if q.ActiveComputeNodeID != nil {
		f.Add(`j.compute_node_id = ? AND j.status IN {live} AND j.status = {running}`, *q.ActiveComputeNodeID) // the index has both
	}
	if q.HeldInAllocation != nil {
		f.Add(`j.status IN {live} AND j.compute_node_id IN (SELECT id FROM compute_node WHERE allocation_id = ?)`, *q.HeldInAllocation)
	}
	if q.OriginIsSet != nil {
		f.Add(`(j.origin IS NOT NULL) = ?`, *q.OriginIsSet)
	}
	if q.Labels != nil {
		classes, err := classesFor(ctx, tx, q.WorkflowID, *q.Labels)
		if err != nil {
			return nil, err
		}
		f.Add(`j.class_id IN (SELECT value FROM json_each(?))`, classes)
	}
	return f, nil
}

// classesFor returns, as JSON, the classes that a runner with these labels may claim from.
func classesFor(ctx context.Context, tx *sql.Tx, workflowID int64, labels []string) (string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, labels FROM claim_class WHERE workflow_id = ?`, workflowID)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	ids := []int64{}
	for rows.Next() {
		var id int64
		var joined string
		if err := rows.Scan(&id, &joined); err != nil {
			return "", err
		}
		wanted, err := workflow.ParseLabels(joined)
		if err != nil {
			return "", err
		}
		if workflow.LabelsMatch(wanted, labels) {
			ids = append(ids, id)
		}
	}
	return sqlite.IDList(ids), rows.Err()
}
