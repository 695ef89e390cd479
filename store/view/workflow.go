package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const workflowColumns = `w.id, w.name, w.user, w.description, w.project, w.metadata, w.env, w.timestamp, w.submission_directory,
	w.compute_node_wait_for_new_jobs_seconds, w.compute_node_ignore_workflow_completion,
	w.compute_node_wait_for_healthy_database_minutes, w.compute_node_min_time_for_new_jobs_seconds,
	w.resource_monitor_config, w.slurm_defaults, w.execution_config, w.dynamic_jobs, w.policy,
	w.use_pending_failed, w.enforce_runtime, w.torc_extra, w.spec_path, w.run_id, w.is_canceled, w.is_archived, w.end_generation,
	COALESCE((SELECT v.type FROM verdict v WHERE v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation), ''),
	EXISTS (SELECT 1 FROM compensation c WHERE c.workflow_id = w.id AND c.run_id = w.run_id AND c.state IN ('waiting', 'running')),
	` + claimsHeldOf

// claimsHeldOf selects why the claims of workflow w are held: the reason that lasts longest;
// empty if they are not.
const claimsHeldOf = `iif(w.claim_holds = 0, '', COALESCE((SELECT h.reason FROM claim_hold h WHERE h.workflow_id = w.id AND ` + HoldBinds + `
	ORDER BY h.until_ms > 0, h.until_ms DESC, h.id LIMIT 1), ''))`

// ScanWorkflow reads a row of SelectWorkflow.
func ScanWorkflow(r sqlite.Scanner) (w workflow.Workflow, err error) {
	var metadata, env, monitor, slurm, execution, dynamic, policy sql.NullString
	err = r.Scan(&w.ID, &w.Name, &w.User, &w.Description, &w.Project, &metadata, &env, &w.Timestamp, &w.SubmissionDirectory,
		&w.ComputeNodeWaitForNewJobsSeconds, &w.ComputeNodeIgnoreWorkflowCompletion,
		&w.ComputeNodeWaitForHealthyDatabaseMinutes, &w.ComputeNodeMinTimeForNewJobsSeconds,
		&monitor, &slurm, &execution, &dynamic, &policy,
		&w.UsePendingFailed, &w.EnforceRuntime, row.TorcExtra{Keys: &w.TorcWorkflow}, &w.SpecPath, &w.RunID, &w.IsCanceled, &w.IsArchived, &w.EndGeneration, &w.Verdict, &w.Compensating, &w.ClaimsHeld)
	if err != nil {
		return w, err
	}
	if metadata.Valid {
		w.Metadata = json.RawMessage(metadata.String)
	}
	if slurm.Valid {
		w.SlurmDefaults = json.RawMessage(slurm.String)
	}
	for _, c := range []struct {
		text sql.NullString
		dest any
	}{{env, &w.Env}, {monitor, &w.ResourceMonitor}, {execution, &w.ExecutionConfig}, {dynamic, &w.DynamicJobs}, {policy, &w.Policy}} {
		if c.text.Valid {
			if err := json.Unmarshal([]byte(c.text.String), c.dest); err != nil {
				return w, fmt.Errorf("read workflow %d: %w", w.ID, err)
			}
		}
	}
	return w, nil
}

// SelectWorkflow selects a visible workflow by id.
const SelectWorkflow = `SELECT ` + workflowColumns + ` FROM workflow w WHERE w.id = ? AND w.is_hidden = 0`

// Get returns a workflow; CodeNotFound if there is none with this id.
func (s Workflows) Get(ctx context.Context, id int64) (workflow.Workflow, error) {
	return ReadOne(ctx, s.DB.Read, "workflow", id, SelectWorkflow, ScanWorkflow)
}

// WorkflowFilter selects workflows. Nil fields match all.
type WorkflowFilter struct {
	Name        *string
	User        *string
	Description *string // a substring
	IsArchived  *bool
	AccessGroup *string // the name of one of the groups
	SpecPath    *string // created from this file
}

// List returns a page of the workflows, and how many match in all.
func (s Workflows) List(ctx context.Context, q WorkflowFilter, page sqlite.Page) ([]workflow.Workflow, int64, error) {
	f := sqlite.Where(`w.is_hidden = 0`)
	sqlite.Equal(f, "w.name", q.Name)
	sqlite.Equal(f, "w.user", q.User)
	sqlite.Contains(f, "w.description", q.Description)
	sqlite.Equal(f, "w.is_archived", q.IsArchived)
	sqlite.Equal(f, "w.spec_path", q.SpecPath)
	if q.AccessGroup != nil {
		f.Add(`EXISTS (SELECT 1 FROM json_each(w.torc_extra, '$.access_groups') WHERE value = ?)`, *q.AccessGroup)
	}
	sortable := map[string]string{}
	for _, c := range []string{"compute_node_expiration_buffer_seconds", "enable_ro_crate"} {
		sortable[c] = "w.torc_extra ->> '" + c + "'"
	}
	for _, c := range []string{"name", "user", "description", "env", "timestamp",
		"compute_node_wait_for_new_jobs_seconds", "compute_node_ignore_workflow_completion", "compute_node_wait_for_healthy_database_minutes",
		"compute_node_min_time_for_new_jobs_seconds", "resource_monitor_config", "slurm_defaults", "use_pending_failed",
		"project", "metadata", "run_id", "is_canceled", "is_archived", "submission_directory"} {
		sortable[c] = "w." + c
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: workflowColumns, From: "workflow w", Filter: f, Sortable: sortable, ID: "w.id", Page: page,
	}, ScanWorkflow)
}

// Kind is a kind of rows that belong to a workflow.
type Kind string

// Of returns the workflow of a row; CodeNotFound if there is no such row. The answer stays
// true: rows never move to another workflow, and ids are not reused.
func (s Workflows) Of(ctx context.Context, kind Kind, id int64) (workflowID int64, err error) {
	table := string(kind)
	err = s.DB.Read.QueryRowContext(ctx, `SELECT workflow_id FROM `+table+` WHERE id = ?`, id).Scan(&workflowID)
	return workflowID, OrNotFound(err, table, id)
}
