package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// jsonText returns an optional value for a JSON column.
func jsonText[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// Create stores a workflow with its default requirements and returns it.
func (s Workflows) Create(ctx context.Context, w workflow.Workflow) (workflow.Workflow, error) {
	if err := checkWorkflow(&w); err != nil {
		return w, err
	}
	if w.Policy != nil && (w.Policy.EndJob() != nil || w.Policy.OnFailure != nil) {
		return w, workflow.Errorf(workflow.CodeInvalid, "a workflow that is created without its jobs cannot have an end job or on_failure").
			WithHint("create it from a specification, or send a complete definition")
	}
	var created workflow.Workflow
	err := s.shared.By(ctx).Do("create workflow", func(tx *core.Tx) error {
		id, err := insertWorkflow(tx, w)
		if err != nil {
			return err
		}
		created, err = core.GetWorkflow(tx, id)
		return err
	})
	return created, err
}

// checkWorkflow rejects an invalid workflow, and sorts its groups.
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
	return w.NormalizeTorc()
}

// definedColumns are the columns of a workflow that its definition sets, in the order of
// definedValues.
const definedColumns = `name, user, description, project, metadata, env, submission_directory, spec_path,
	compute_node_wait_for_new_jobs_seconds, compute_node_ignore_workflow_completion,
	compute_node_wait_for_healthy_database_minutes, compute_node_min_time_for_new_jobs_seconds,
	resource_monitor_config, slurm_defaults, execution_config, dynamic_jobs, policy,
	use_pending_failed, enforce_runtime, torc_extra`

// definedValues returns the values of definedColumns. It returns an error for a retry policy
// that does not exist.
func definedValues(tx *core.Tx, w *workflow.Workflow) ([]any, error) {
	env, err := jsonText(absentMap(w.Env))
	if err != nil {
		return nil, fmt.Errorf("write env: %w", err)
	}
	monitor, err := jsonText(w.ResourceMonitor)
	if err != nil {
		return nil, fmt.Errorf("write resource_monitor_config: %w", err)
	}
	execution, err := jsonText(w.ExecutionConfig)
	if err != nil {
		return nil, fmt.Errorf("write execution_config: %w", err)
	}
	dynamic, err := jsonText(w.DynamicJobs)
	if err != nil {
		return nil, fmt.Errorf("write dynamic_jobs: %w", err)
	}
	policy, err := jsonText(w.Policy)
	if err != nil {
		return nil, fmt.Errorf("write the policy: %w", err)
	}
	if w.Policy != nil {
		if err := record.RequirePolicies(tx, "retry_policies of the workflow", w.Policy.RetryPolicies); err != nil {
			return nil, err
		}
	}
	return []any{
		w.Name, w.User, w.Description, w.Project, view.Text(w.Metadata), env, w.SubmissionDirectory, w.SpecPath,
		w.ComputeNodeWaitForNewJobsSeconds, w.ComputeNodeIgnoreWorkflowCompletion,
		w.ComputeNodeWaitForHealthyDatabaseMinutes, w.ComputeNodeMinTimeForNewJobsSeconds,
		monitor, view.Text(w.SlurmDefaults), execution, dynamic, policy,
		w.UsePendingFailed, w.EnforceRuntime, row.TorcExtra{Keys: &w.TorcWorkflow},
	}, nil
}

// insertWorkflow stores a workflow with its default requirements.
func insertWorkflow(tx *core.Tx, w workflow.Workflow) (int64, error) {
	values, err := definedValues(tx, &w)
	if err != nil {
		return 0, err
	}
	id, err := tx.Insert(`INSERT INTO workflow (`+definedColumns+`, timestamp, door) VALUES (`+strings.Repeat("?, ", len(values))+`?, ?)`,
		append(values, wireTime(tx.NowMS), string(tx.Door))...)
	if err != nil {
		return 0, fmt.Errorf("insert workflow %q: %w", w.Name, err)
	}
	_, err = engine.InsertRequirements(tx, workflow.ResourceRequirements{
		WorkflowID: id, Name: workflow.DefaultRequirements, NumCPUs: 1, NumNodes: 1, Memory: "1m", Runtime: "P0DT1M",
	})
	return id, err
}

// wireTime formats a time as torc does in workflow.timestamp.
func wireTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func absentMap(m map[string]string) *map[string]string {
	if len(m) == 0 {
		return nil
	}
	return &m
}

// Update changes a workflow and returns it.
func (s Workflows) Update(ctx context.Context, id int64, u workflow.WorkflowUpdate) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.shared.By(ctx).Do("update workflow", func(tx *core.Tx) (err error) {
		if w, err = core.GetWorkflow(tx, id); err != nil {
			return err
		}
		if err := checkImmutable(&w, u); err != nil {
			return err
		}
		before := w
		if u.Name != nil {
			if err := workflow.CheckName("workflow", *u.Name); err != nil {
				return err
			}
		}
		core.Set(&w.Name, u.Name)
		core.Set(&w.User, u.User)
		core.SetOptional(&w.Description, u.Description)
		core.SetOptional(&w.Project, u.Project)
		if view.Text(u.Metadata) != nil {
			w.Metadata = u.Metadata
		}
		core.Set(&w.ComputeNodeWaitForNewJobsSeconds, u.ComputeNodeWaitForNewJobsSeconds)
		core.Set(&w.ComputeNodeIgnoreWorkflowCompletion, u.ComputeNodeIgnoreWorkflowCompletion)
		core.Set(&w.ComputeNodeWaitForHealthyDatabaseMinutes, u.ComputeNodeWaitForHealthyDatabaseMinutes)
		core.SetOptional(&w.UsePendingFailed, u.UsePendingFailed)
		w.UpdateTorc(u.TorcWorkflow)
		core.SetOptional(&w.ExecutionConfig, u.ExecutionConfig)
		if err := updatePolicy(tx, &w, u.Policy, u.UnsetPolicy); err != nil {
			return err
		}
		execution, err := jsonText(w.ExecutionConfig)
		if err != nil {
			return fmt.Errorf("write execution_config of workflow %d: %w", id, err)
		}
		if err := core.Updated(tx, id, "update_workflow", map[string]any{}, before, w); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE workflow SET name = ?, user = ?, description = ?, project = ?, metadata = ?,
				compute_node_wait_for_new_jobs_seconds = ?, compute_node_ignore_workflow_completion = ?,
				compute_node_wait_for_healthy_database_minutes = ?, use_pending_failed = ?, torc_extra = ?, execution_config = ? WHERE id = ?`,
			w.Name, w.User, w.Description, w.Project, view.Text(w.Metadata),
			w.ComputeNodeWaitForNewJobsSeconds, w.ComputeNodeIgnoreWorkflowCompletion,
			w.ComputeNodeWaitForHealthyDatabaseMinutes, w.UsePendingFailed, row.TorcExtra{Keys: &w.TorcWorkflow}, execution, id)
	})
	return w, err
}

// checkImmutable rejects changes of what the jobs were created from.
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
	case !w.SameGroups(u.TorcWorkflow):
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

// Archive archives a workflow or takes it out of the archive.
func (s Workflows) Archive(ctx context.Context, id int64, archived bool, user string) (workflow.Workflow, error) {
	var w workflow.Workflow
	err := s.shared.By(ctx).Do("archive workflow", func(tx *core.Tx) (err error) {
		if w, err = core.GetWorkflow(tx, id); err != nil {
			return err
		}
		w.IsArchived = archived
		if err := tx.ExecOne(`UPDATE workflow SET is_archived = ? WHERE id = ?`, archived, id); err != nil {
			return fmt.Errorf("archive workflow %d: %w", id, err)
		}
		return core.UserAction(tx, id, user, "archive_workflow", map[string]any{"is_archived": archived})
	})
	return w, err
}

// Initialize sets the statuses of a workflow's jobs from its graph. Jobs that are
// uninitialized, terminated or held run again, with everything behind them; others stay
// complete. Jobs behind a failure that stands are skipped. Jobs that a runner holds,
// disabled ones and those of a compensation are left alone.
func (s Workflows) Initialize(ctx context.Context, workflowID int64, o engine.InitializeOptions) error {
	return s.shared.By(ctx).Do("initialize", func(tx *core.Tx) error { return engine.InitializeJobs(tx, workflowID, o) })
}

// The kinds, named after their tables.
const (
	KindJob          view.Kind = "job"
	KindFile         view.Kind = "file"
	KindUserData     view.Kind = "user_data"
	KindResult       view.Kind = "result"
	KindEvent        view.Kind = "event"
	KindRequirements view.Kind = "resource_requirements"
)
