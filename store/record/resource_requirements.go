package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const requirementsColumns = `id, workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime`

func scanRequirements(r sqlite.Scanner) (q workflow.ResourceRequirements, err error) {
	err = r.Scan(&q.ID, &q.WorkflowID, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime)
	return q, err
}

// Create stores requirements and returns them with their id. The name "default" is
// reserved.
func (s Requirements) Create(ctx context.Context, q workflow.ResourceRequirements) (workflow.ResourceRequirements, error) {
	if q.Name == workflow.DefaultRequirements {
		return q, workflow.Errorf(workflow.CodeInvalid, "the name %q is taken: every workflow has requirements of this name", q.Name).
			WithHint("choose another name, or update the existing ones")
	}
	err := s.shared.By(ctx).Do("create resource requirements", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, q.WorkflowID); err != nil {
			return err
		}
		q.ID, err = engine.InsertRequirements(tx, q)
		return err
	})
	return q, err
}

// Get returns requirements; CodeNotFound if there are none with this id.
func (s Requirements) Get(ctx context.Context, id int64) (workflow.ResourceRequirements, error) {
	return view.ReadOne(ctx, s.DB.Read, "resource_requirements", id,
		`SELECT `+requirementsColumns+` FROM resource_requirements WHERE id = ?`, scanRequirements)
}

// RequirementsFilter selects requirements of a workflow. Nil fields match all.
type RequirementsFilter struct {
	WorkflowID     int64
	JobID          *int64
	Name           *string
	Memory         *string
	NumCPUs        *int64
	NumGPUs        *int64
	NumNodes       *int64
	RuntimeSeconds *int64
}

// List returns a page of the requirements of a workflow, and how many match in all.
func (s Requirements) List(ctx context.Context, q RequirementsFilter, page sqlite.Page) ([]workflow.ResourceRequirements, int64, error) {
	if err := view.RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "name", q.Name)
	sqlite.Equal(f, "memory", q.Memory)
	sqlite.Equal(f, "num_cpus", q.NumCPUs)
	sqlite.Equal(f, "num_gpus", q.NumGPUs)
	sqlite.Equal(f, "num_nodes", q.NumNodes)
	sqlite.Equal(f, "runtime_s", q.RuntimeSeconds)
	if q.JobID != nil {
		f.Add(`id = (SELECT c.requirements_id FROM job j JOIN claim_class c ON c.id = j.class_id WHERE j.id = ?)`, *q.JobID)
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: requirementsColumns, From: "resource_requirements", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{
			"workflow_id": "workflow_id", "name": "name", "num_cpus": "num_cpus", "num_gpus": "num_gpus",
			"num_nodes": "num_nodes", "memory": "memory", "runtime": "runtime",
			"memory_bytes": "memory_bytes", "runtime_s": "runtime_s",
		},
	}, scanRequirements)
}

// RequirementsUpdate is a change of requirements. Nil fields are kept.
type RequirementsUpdate struct {
	WorkflowID int64 // cannot change
	Name       *string
	NumCPUs    *int64
	NumGPUs    *int64
	NumNodes   *int64
	Memory     *string
	Runtime    *string
}

// Update changes requirements, and thereby the needs of their jobs, and logs the user.
func (s Requirements) Update(ctx context.Context, id int64, u RequirementsUpdate, user string) (workflow.ResourceRequirements, error) {
	var q workflow.ResourceRequirements
	err := s.shared.By(ctx).Do("update resource requirements", func(tx *core.Tx) (err error) {
		q, err = UpdateRequirements(tx, id, &u, user)
		return err
	})
	return q, err
}

// UpdateRequirements is Update within a transaction.
func UpdateRequirements(tx *core.Tx, id int64, u *RequirementsUpdate, user string) (workflow.ResourceRequirements, error) {
	q, err := getRequirements(tx, id)
	if err != nil {
		return q, err
	}
	if err := core.SameWorkflow("resource_requirements", id, q.WorkflowID, u.WorkflowID); err != nil {
		return q, err
	}
	if u.Name != nil && *u.Name != q.Name && (q.Name == workflow.DefaultRequirements || *u.Name == workflow.DefaultRequirements) {
		return q, workflow.Errorf(workflow.CodeInvalid, "resource requirements %d: the name %q is reserved", id, workflow.DefaultRequirements)
	}
	core.Set(&q.Name, u.Name)
	core.Set(&q.NumCPUs, u.NumCPUs)
	core.Set(&q.NumGPUs, u.NumGPUs)
	core.Set(&q.NumNodes, u.NumNodes)
	core.Set(&q.Memory, u.Memory)
	core.Set(&q.Runtime, u.Runtime)
	memory, runtime, err := engine.Measure(q)
	if err != nil {
		return q, err
	}
	if err := tx.ExecOne(`UPDATE resource_requirements
		SET name = ?, num_cpus = ?, num_gpus = ?, num_nodes = ?, memory = ?, runtime = ?, memory_bytes = ?, runtime_s = ? WHERE id = ?`,
		q.Name, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime, memory, runtime, id); err != nil {
		return q, fmt.Errorf("update resource requirements %d: %w", id, err)
	}
	tx.Ready(q.WorkflowID) // jobs may fit now
	return q, core.UserAction(tx, q.WorkflowID, user, "update_resource_requirements", map[string]any{
		"resource_requirements_id": id, "name": q.Name, "num_cpus": q.NumCPUs, "num_gpus": q.NumGPUs,
		"num_nodes": q.NumNodes, "memory": q.Memory, "runtime": q.Runtime,
	})
}

// Delete deletes requirements that no job uses; otherwise it returns CodeConflict.
func (s Requirements) Delete(ctx context.Context, id int64) (workflow.ResourceRequirements, error) {
	var q workflow.ResourceRequirements
	err := s.shared.By(ctx).Do("delete resource requirements", func(tx *core.Tx) (err error) {
		if q, err = getRequirements(tx, id); err != nil {
			return err
		}
		if q.Name == workflow.DefaultRequirements {
			return workflow.Errorf(workflow.CodeConflict, "resource requirements %d are the workflow's default and cannot be deleted", id)
		}
		var jobs int64
		err = tx.Row(`SELECT COUNT(*) FROM job WHERE class_id IN (SELECT id FROM claim_class WHERE workflow_id = ? AND requirements_id = ?)`,
			[]any{q.WorkflowID, id}, &jobs)
		if err != nil {
			return fmt.Errorf("count the jobs of resource requirements %d: %w", id, err)
		}
		if jobs > 0 {
			return workflow.Errorf(workflow.CodeConflict, "resource requirements %d (%s) are used by %s", id, q.Name, workflow.CountOf(jobs, "job", "jobs")).
				WithHint("give these jobs other requirements first")
		}
		for _, query := range []string{
			`DELETE FROM claim_class WHERE requirements_id = ?`,
			`DELETE FROM resource_requirements WHERE id = ?`,
		} {
			if _, err := tx.Exec(query, id); err != nil {
				return fmt.Errorf("delete resource requirements %d: %w", id, err)
			}
		}
		return nil
	})
	return q, err
}

// DeleteUnused deletes the requirements of a workflow that no job uses, except the default,
// and returns how many there were.
func (s Requirements) DeleteUnused(ctx context.Context, workflowID int64) (n int64, err error) {
	err = s.shared.By(ctx).Do("delete resource requirements", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM claim_class WHERE workflow_id = ? AND id NOT IN (SELECT class_id FROM job)`, workflowID); err != nil {
			return fmt.Errorf("delete claim classes of workflow %d: %w", workflowID, err)
		}
		n, err = tx.Exec(`DELETE FROM resource_requirements WHERE workflow_id = ?1 AND name != ?2
			AND id NOT IN (SELECT requirements_id FROM claim_class WHERE workflow_id = ?1)`, workflowID, workflow.DefaultRequirements)
		return sqlite.Wrap(err, "delete resource requirements of workflow %d", workflowID)
	})
	return n, err
}

func getRequirements(tx *core.Tx, id int64) (workflow.ResourceRequirements, error) {
	return core.GetOne(tx, "resource_requirements", id, `SELECT `+requirementsColumns+` FROM resource_requirements WHERE id = ?`, scanRequirements)
}
