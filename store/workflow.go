package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const workflowColumns = `w.id, w.name, w.user, w.description, w.project, w.metadata, w.env, w.timestamp, w.submission_directory,
	w.compute_node_expiration_buffer_seconds, w.compute_node_wait_for_new_jobs_seconds, w.compute_node_ignore_workflow_completion,
	w.compute_node_wait_for_healthy_database_minutes, w.compute_node_min_time_for_new_jobs_seconds,
	w.resource_monitor_config, w.slurm_defaults, w.execution_config, w.dynamic_jobs, w.access_groups, w.policy,
	w.use_pending_failed, w.enable_ro_crate, w.enforce_runtime, w.run_id, w.is_canceled, w.is_archived, w.end_generation,
	COALESCE((SELECT v.type FROM verdict v WHERE v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation), ''),
	EXISTS (SELECT 1 FROM compensation c WHERE c.workflow_id = w.id AND c.run_id = w.run_id AND c.state IN ('waiting', 'running'))`

func scanWorkflow(r rowScanner) (w workflow.Workflow, err error) {
	var metadata, env, monitor, slurm, execution, dynamic, groups, policy sql.NullString
	err = r.Scan(&w.ID, &w.Name, &w.User, &w.Description, &w.Project, &metadata, &env, &w.Timestamp, &w.SubmissionDirectory,
		&w.ComputeNodeExpirationBufferSeconds, &w.ComputeNodeWaitForNewJobsSeconds, &w.ComputeNodeIgnoreWorkflowCompletion,
		&w.ComputeNodeWaitForHealthyDatabaseMinutes, &w.ComputeNodeMinTimeForNewJobsSeconds,
		&monitor, &slurm, &execution, &dynamic, &groups, &policy,
		&w.UsePendingFailed, &w.EnableROCrate, &w.EnforceRuntime, &w.RunID, &w.IsCanceled, &w.IsArchived, &w.EndGeneration, &w.Verdict, &w.Compensating)
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
	}{{env, &w.Env}, {monitor, &w.ResourceMonitor}, {execution, &w.ExecutionConfig}, {dynamic, &w.DynamicJobs}, {groups, &w.AccessGroups}, {policy, &w.Policy}} {
		if c.text.Valid {
			if err := json.Unmarshal([]byte(c.text.String), c.dest); err != nil {
				return w, fmt.Errorf("read workflow %d: %w", w.ID, err)
			}
		}
	}
	return w, nil
}

// jsonText is a JSON column of an optional value.
func jsonText[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// CreateWorkflow stores a workflow with its default requirements and returns
// it as it is stored.
func (s *Store) CreateWorkflow(_ context.Context, w workflow.Workflow) (workflow.Workflow, error) {
	if err := checkWorkflow(&w); err != nil {
		return w, err
	}
	if w.Policy != nil && (w.Policy.EndJob() != nil || w.Policy.OnFailure != nil) {
		return w, workflow.Errorf(workflow.CodeInvalid, "a workflow that is created by itself cannot have an end job or on_failure").
			WithHint("create it from a specification, or send a whole definition")
	}
	var created workflow.Workflow
	err := s.writer.do("create workflow", func(tx *Tx) error {
		id, err := insertWorkflow(tx, w)
		if err != nil {
			return err
		}
		created, err = getWorkflow(tx, id)
		return err
	})
	return created, err
}

// checkWorkflow refuses a new workflow that could not run, and sorts its
// groups.
func checkWorkflow(w *workflow.Workflow) error {
	if err := workflow.CheckName("workflow", w.Name); err != nil {
		return err
	}
	if err := workflow.ValidateEnv(w.Env); err != nil {
		return err
	}
	if err := workflow.ProblemsError("workflow", w.Policy.Validate()); err != nil {
		return err
	}
	if d := w.DynamicJobs; d != nil && d.MaxIterations != nil && *d.MaxIterations < 1 {
		return workflow.Errorf(workflow.CodeInvalid, "dynamic_jobs.max_iterations must be at least 1, not %d", *d.MaxIterations)
	}
	w.AccessGroups = slices.Sorted(slices.Values(w.AccessGroups))
	if n := len(w.AccessGroups); len(slices.Compact(slices.Clone(w.AccessGroups))) != n {
		return workflow.Errorf(workflow.CodeInvalid, "access_groups names a group twice")
	}
	return nil
}

// insertWorkflow stores a workflow with its default requirements.
func insertWorkflow(tx *Tx, w workflow.Workflow) (int64, error) {
	env, err := jsonText(absentMap(w.Env))
	if err != nil {
		return 0, fmt.Errorf("write env: %w", err)
	}
	groups, err := jsonText(absentSlice(w.AccessGroups))
	if err != nil {
		return 0, fmt.Errorf("write access_groups: %w", err)
	}
	monitor, err := jsonText(w.ResourceMonitor)
	if err != nil {
		return 0, fmt.Errorf("write resource_monitor_config: %w", err)
	}
	execution, err := jsonText(w.ExecutionConfig)
	if err != nil {
		return 0, fmt.Errorf("write execution_config: %w", err)
	}
	dynamic, err := jsonText(w.DynamicJobs)
	if err != nil {
		return 0, fmt.Errorf("write dynamic_jobs: %w", err)
	}
	policy, err := jsonText(w.Policy)
	if err != nil {
		return 0, fmt.Errorf("write the policy: %w", err)
	}
	if w.Policy != nil {
		if err := tx.requirePolicies("retry_policies of the workflow", w.Policy.RetryPolicies); err != nil {
			return 0, err
		}
	}
	id, err := tx.insert(`INSERT INTO workflow (name, user, description, project, metadata, env, timestamp, submission_directory,
			compute_node_expiration_buffer_seconds, compute_node_wait_for_new_jobs_seconds, compute_node_ignore_workflow_completion,
			compute_node_wait_for_healthy_database_minutes, compute_node_min_time_for_new_jobs_seconds,
			resource_monitor_config, slurm_defaults, execution_config, dynamic_jobs, access_groups, policy,
			use_pending_failed, enable_ro_crate, enforce_runtime)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.Name, w.User, w.Description, w.Project, text(w.Metadata), env, wireTime(tx.Now()), w.SubmissionDirectory,
		w.ComputeNodeExpirationBufferSeconds, w.ComputeNodeWaitForNewJobsSeconds, w.ComputeNodeIgnoreWorkflowCompletion,
		w.ComputeNodeWaitForHealthyDatabaseMinutes, w.ComputeNodeMinTimeForNewJobsSeconds,
		monitor, text(w.SlurmDefaults), execution, dynamic, groups, policy,
		w.UsePendingFailed, w.EnableROCrate, w.EnforceRuntime)
	if err != nil {
		return 0, fmt.Errorf("insert workflow %q: %w", w.Name, err)
	}
	_, err = insertRequirements(tx, workflow.ResourceRequirements{
		WorkflowID: id, Name: workflow.DefaultRequirements, NumCPUs: 1, NumNodes: 1, Memory: "1m", Runtime: "P0DT1M",
	})
	return id, err
}

// wireTime writes a time as torc does in workflow.timestamp.
func wireTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func absentMap(m map[string]string) *map[string]string {
	if len(m) == 0 {
		return nil
	}
	return &m
}

func absentSlice(s []string) *[]string {
	if len(s) == 0 {
		return nil
	}
	return &s
}

const selectWorkflow = `SELECT ` + workflowColumns + ` FROM workflow w WHERE w.id = ? AND w.is_hidden = 0`

// Workflow returns a workflow.
func (s *Store) Workflow(ctx context.Context, id int64) (workflow.Workflow, error) {
	return readOne(ctx, s.read, "workflow", id, selectWorkflow, scanWorkflow)
}

func getWorkflow(tx *Tx, id int64) (workflow.Workflow, error) {
	return getOne(tx, "workflow", id, selectWorkflow, scanWorkflow)
}

// WorkflowFilter says which workflows are wanted; nil fields do not matter.
type WorkflowFilter struct {
	Name        *string
	User        *string
	Description *string // a part of it
	IsArchived  *bool
	AccessGroup *string // the name of one of its groups
}

// Workflows returns a page of the workflows.
func (s *Store) Workflows(ctx context.Context, q WorkflowFilter, page Page) ([]workflow.Workflow, int64, error) {
	f := where(`w.is_hidden = 0`)
	equal(f, "w.name", q.Name)
	equal(f, "w.user", q.User)
	contains(f, "w.description", q.Description)
	equal(f, "w.is_archived", q.IsArchived)
	if q.AccessGroup != nil {
		f.add(`EXISTS (SELECT 1 FROM json_each(w.access_groups) WHERE value = ?)`, *q.AccessGroup)
	}
	sortable := map[string]string{}
	for _, c := range []string{"name", "user", "description", "env", "timestamp", "compute_node_expiration_buffer_seconds",
		"compute_node_wait_for_new_jobs_seconds", "compute_node_ignore_workflow_completion", "compute_node_wait_for_healthy_database_minutes",
		"compute_node_min_time_for_new_jobs_seconds", "resource_monitor_config", "slurm_defaults", "use_pending_failed", "enable_ro_crate",
		"project", "metadata", "run_id", "is_canceled", "is_archived", "submission_directory"} {
		sortable[c] = "w." + c
	}
	return readList(ctx, s.read, list{
		columns: workflowColumns, from: "workflow w", filter: f, sortable: sortable, id: "w.id", page: page,
	}, scanWorkflow)
}

// UpdateWorkflow changes a workflow and returns it.
func (s *Store) UpdateWorkflow(_ context.Context, id int64, u workflow.WorkflowUpdate) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.writer.do("update workflow", func(tx *Tx) (err error) {
		if w, err = getWorkflow(tx, id); err != nil {
			return err
		}
		if err := checkImmutable(&w, u); err != nil {
			return err
		}
		if u.Name != nil {
			if err := workflow.CheckName("workflow", *u.Name); err != nil {
				return err
			}
		}
		set(&w.Name, u.Name)
		set(&w.User, u.User)
		setOptional(&w.Description, u.Description)
		setOptional(&w.Project, u.Project)
		if text(u.Metadata) != nil {
			w.Metadata = u.Metadata
		}
		setOptional(&w.ComputeNodeExpirationBufferSeconds, u.ComputeNodeExpirationBufferSeconds)
		set(&w.ComputeNodeWaitForNewJobsSeconds, u.ComputeNodeWaitForNewJobsSeconds)
		set(&w.ComputeNodeIgnoreWorkflowCompletion, u.ComputeNodeIgnoreWorkflowCompletion)
		set(&w.ComputeNodeWaitForHealthyDatabaseMinutes, u.ComputeNodeWaitForHealthyDatabaseMinutes)
		setOptional(&w.UsePendingFailed, u.UsePendingFailed)
		setOptional(&w.EnableROCrate, u.EnableROCrate)
		setOptional(&w.ExecutionConfig, u.ExecutionConfig)
		if err := tx.updatePolicy(&w, u.Policy, u.UnsetPolicy); err != nil {
			return err
		}
		execution, err := jsonText(w.ExecutionConfig)
		if err != nil {
			return fmt.Errorf("write execution_config of workflow %d: %w", id, err)
		}
		return tx.execOne(`UPDATE workflow SET name = ?, user = ?, description = ?, project = ?, metadata = ?,
				compute_node_expiration_buffer_seconds = ?, compute_node_wait_for_new_jobs_seconds = ?, compute_node_ignore_workflow_completion = ?,
				compute_node_wait_for_healthy_database_minutes = ?, use_pending_failed = ?, enable_ro_crate = ?, execution_config = ? WHERE id = ?`,
			w.Name, w.User, w.Description, w.Project, text(w.Metadata),
			w.ComputeNodeExpirationBufferSeconds, w.ComputeNodeWaitForNewJobsSeconds, w.ComputeNodeIgnoreWorkflowCompletion,
			w.ComputeNodeWaitForHealthyDatabaseMinutes, w.UsePendingFailed, w.EnableROCrate, execution, id)
	})
	return w, err
}

// checkImmutable refuses to change what jobs were made from.
func checkImmutable(w *workflow.Workflow, u workflow.WorkflowUpdate) error {
	refuse := func(field string) error {
		return workflow.Errorf(workflow.CodeInvalid, "Cannot modify %s of workflow %d: it is fixed when the workflow is created", field, w.ID)
	}
	switch {
	case u.Env != nil && !maps.Equal(u.Env, w.Env):
		return refuse("env")
	case u.SubmissionDirectory != nil && (w.SubmissionDirectory == nil || *u.SubmissionDirectory != *w.SubmissionDirectory):
		return refuse("submission_directory")
	case u.DynamicJobs != nil && !sameDynamicJobs(u.DynamicJobs, w.DynamicJobs):
		return refuse("dynamic_jobs")
	case u.AccessGroups != nil && !slices.Equal(slices.Sorted(slices.Values(u.AccessGroups)), w.AccessGroups):
		return refuse("access_groups")
	}
	return nil
}

func sameDynamicJobs(a, b *workflow.DynamicJobsConfig) bool {
	if b == nil || (a.MaxIterations == nil) != (b.MaxIterations == nil) {
		return false
	}
	return a.MaxIterations == nil || *a.MaxIterations == *b.MaxIterations
}

// ArchiveWorkflow puts a workflow into the archive or takes it out.
func (s *Store) ArchiveWorkflow(_ context.Context, id int64, archived bool, user string) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.writer.do("archive workflow", func(tx *Tx) (err error) {
		if w, err = getWorkflow(tx, id); err != nil {
			return err
		}
		w.IsArchived = archived
		if err := tx.execOne(`UPDATE workflow SET is_archived = ? WHERE id = ?`, archived, id); err != nil {
			return fmt.Errorf("archive workflow %d: %w", id, err)
		}
		return tx.userAction(id, user, "archive_workflow", map[string]any{"is_archived": archived})
	})
	return w, err
}
