package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const requirementsColumns = `id, workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime`

func scanRequirements(r rowScanner) (q workflow.ResourceRequirements, err error) {
	err = r.Scan(&q.ID, &q.WorkflowID, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime)
	return q, err
}

// CreateResourceRequirements stores requirements and returns them with their
// id. The name "default" is the workflow's own.
func (s *Store) CreateResourceRequirements(_ context.Context, q workflow.ResourceRequirements) (workflow.ResourceRequirements, error) {
	if q.Name == workflow.DefaultRequirements {
		return q, workflow.Errorf(workflow.CodeInvalid, "the name %q is taken: every workflow has requirements of this name", q.Name).
			WithHint("choose another name, or update the existing ones")
	}
	err := s.writer.do("create resource requirements", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(q.WorkflowID); err != nil {
			return err
		}
		q.ID, err = insertRequirements(tx, q)
		return err
	})
	return q, err
}

// insertRequirements stores requirements of any name.
func insertRequirements(tx *Tx, q workflow.ResourceRequirements) (int64, error) {
	memory, runtime, err := measure(q)
	if err != nil {
		return 0, err
	}
	id, err := tx.insert(`INSERT INTO resource_requirements
		(workflow_id, name, num_cpus, num_gpus, num_nodes, memory, runtime, memory_bytes, runtime_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		q.WorkflowID, q.Name, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime, memory, runtime)
	if err != nil {
		return 0, fmt.Errorf("insert resource requirements %q: %w", q.Name, err)
	}
	return id, nil
}

// measure checks requirements and returns their memory in bytes and their
// runtime in seconds.
func measure(q workflow.ResourceRequirements) (memory, runtime int64, err error) {
	if err := workflow.CheckName("set of resource requirements", q.Name); err != nil {
		return 0, 0, err
	}
	for _, n := range []struct {
		field string
		value int64
		least int64
	}{{"num_cpus", q.NumCPUs, 1}, {"num_nodes", q.NumNodes, 1}, {"num_gpus", q.NumGPUs, 0}} {
		if n.value < n.least {
			return 0, 0, workflow.Errorf(workflow.CodeInvalid, "resource requirements %q: %s must be at least %d, not %d", q.Name, n.field, n.least, n.value)
		}
	}
	if memory, err = workflow.ParseMemory(q.Memory); err != nil {
		return 0, 0, err
	}
	runtime, err = workflow.ParseRuntime(q.Runtime)
	return memory, runtime, err
}

// ResourceRequirements returns requirements.
func (s *Store) ResourceRequirements(ctx context.Context, id int64) (workflow.ResourceRequirements, error) {
	return readOne(ctx, s.read, "resource_requirements", id,
		`SELECT `+requirementsColumns+` FROM resource_requirements WHERE id = ?`, scanRequirements)
}

// RequirementsFilter says which requirements of a workflow are wanted; nil
// fields do not matter.
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

// ListResourceRequirements returns a page of the requirements of a workflow.
func (s *Store) ListResourceRequirements(ctx context.Context, q RequirementsFilter, page Page) ([]workflow.ResourceRequirements, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	equal(f, "name", q.Name)
	equal(f, "memory", q.Memory)
	equal(f, "num_cpus", q.NumCPUs)
	equal(f, "num_gpus", q.NumGPUs)
	equal(f, "num_nodes", q.NumNodes)
	equal(f, "runtime_s", q.RuntimeSeconds)
	if q.JobID != nil {
		f.add(`id = (SELECT c.requirements_id FROM job j JOIN claim_class c ON c.id = j.class_id WHERE j.id = ?)`, *q.JobID)
	}
	return readList(ctx, s.read, list{
		columns: requirementsColumns, from: "resource_requirements", filter: f, id: "id", page: page,
		sortable: map[string]string{
			"workflow_id": "workflow_id", "name": "name", "num_cpus": "num_cpus", "num_gpus": "num_gpus",
			"num_nodes": "num_nodes", "memory": "memory", "runtime": "runtime",
			"memory_bytes": "memory_bytes", "runtime_s": "runtime_s",
		},
	}, scanRequirements)
}

// RequirementsUpdate is a change of requirements: a nil field is kept.
type RequirementsUpdate struct {
	WorkflowID int64 // must be the same
	Name       *string
	NumCPUs    *int64
	NumGPUs    *int64
	NumNodes   *int64
	Memory     *string
	Runtime    *string
}

// UpdateResourceRequirements changes requirements, and with them what the jobs
// that use them need, and notes who did it.
func (s *Store) UpdateResourceRequirements(_ context.Context, id int64, u RequirementsUpdate, user string) (workflow.ResourceRequirements, error) {
	var q workflow.ResourceRequirements
	err := s.writer.do("update resource requirements", func(tx *Tx) (err error) {
		if q, err = getRequirements(tx, id); err != nil {
			return err
		}
		if err := sameWorkflow("resource_requirements", id, q.WorkflowID, u.WorkflowID); err != nil {
			return err
		}
		if u.Name != nil && *u.Name != q.Name && (q.Name == workflow.DefaultRequirements || *u.Name == workflow.DefaultRequirements) {
			return workflow.Errorf(workflow.CodeInvalid, "resource requirements %d: the name %q cannot be given or taken away", id, workflow.DefaultRequirements)
		}
		set(&q.Name, u.Name)
		set(&q.NumCPUs, u.NumCPUs)
		set(&q.NumGPUs, u.NumGPUs)
		set(&q.NumNodes, u.NumNodes)
		set(&q.Memory, u.Memory)
		set(&q.Runtime, u.Runtime)
		memory, runtime, err := measure(q)
		if err != nil {
			return err
		}
		if err := tx.execOne(`UPDATE resource_requirements
			SET name = ?, num_cpus = ?, num_gpus = ?, num_nodes = ?, memory = ?, runtime = ?, memory_bytes = ?, runtime_s = ? WHERE id = ?`,
			q.Name, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime, memory, runtime, id); err != nil {
			return fmt.Errorf("update resource requirements %d: %w", id, err)
		}
		tx.ready(q.WorkflowID) // jobs may fit now that did not fit before
		return tx.userAction(q.WorkflowID, user, "update_resource_requirements", map[string]any{
			"resource_requirements_id": id, "name": q.Name, "num_cpus": q.NumCPUs, "num_gpus": q.NumGPUs,
			"num_nodes": q.NumNodes, "memory": q.Memory, "runtime": q.Runtime,
		})
	})
	return q, err
}

// DeleteResourceRequirements deletes requirements that no job uses.
func (s *Store) DeleteResourceRequirements(_ context.Context, id int64) (workflow.ResourceRequirements, error) {
	var q workflow.ResourceRequirements
	err := s.writer.do("delete resource requirements", func(tx *Tx) (err error) {
		if q, err = getRequirements(tx, id); err != nil {
			return err
		}
		if q.Name == workflow.DefaultRequirements {
			return workflow.Errorf(workflow.CodeConflict, "resource requirements %d are the workflow's default and cannot be deleted", id)
		}
		var jobs int64
		err = tx.row(`SELECT COUNT(*) FROM job WHERE class_id IN (SELECT id FROM claim_class WHERE workflow_id = ? AND requirements_id = ?)`,
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
			if _, err := tx.exec(query, id); err != nil {
				return fmt.Errorf("delete resource requirements %d: %w", id, err)
			}
		}
		return nil
	})
	return q, err
}

// DeleteUnusedResourceRequirements deletes the requirements of a workflow that
// no job uses, save the default ones, and returns how many there were.
func (s *Store) DeleteUnusedResourceRequirements(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.writer.do("delete resource requirements", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		if _, err := tx.exec(`DELETE FROM claim_class WHERE workflow_id = ? AND id NOT IN (SELECT class_id FROM job)`, workflowID); err != nil {
			return fmt.Errorf("delete claim classes of workflow %d: %w", workflowID, err)
		}
		n, err = tx.exec(`DELETE FROM resource_requirements WHERE workflow_id = ?1 AND name != ?2
			AND id NOT IN (SELECT requirements_id FROM claim_class WHERE workflow_id = ?1)`, workflowID, workflow.DefaultRequirements)
		if err != nil {
			return fmt.Errorf("delete resource requirements of workflow %d: %w", workflowID, err)
		}
		return nil
	})
	return n, err
}

func getRequirements(tx *Tx, id int64) (workflow.ResourceRequirements, error) {
	return getOne(tx, "resource_requirements", id, `SELECT `+requirementsColumns+` FROM resource_requirements WHERE id = ?`, scanRequirements)
}
