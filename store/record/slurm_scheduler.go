package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

const slurmSchedulerColumns = `id, workflow_id, name, account, gres, mem, nodes, ntasks_per_node, partition, qos, tmp, walltime, extra, serialize_allocations`

func scanSlurmScheduler(r sqlite.Scanner) (c compute.SlurmScheduler, err error) {
	err = r.Scan(&c.ID, &c.WorkflowID, &c.Name, &c.Account, &c.Gres, &c.Mem, &c.Nodes, &c.NtasksPerNode, &c.Partition, &c.QOS,
		&c.Tmp, &c.Walltime, &c.Extra, &c.SerializeAllocations)
	return c, err
}

// Create stores a Slurm scheduler and returns it with its id.
func (s SlurmSchedulers) Create(ctx context.Context, c compute.SlurmScheduler) (compute.SlurmScheduler, error) {
	err := s.shared.By(ctx).Do("create slurm scheduler", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, c.WorkflowID); err != nil {
			return err
		}
		if c.ID, err = InsertSlurmScheduler(tx, c); err != nil {
			return err
		}
		return core.Changed(tx, c.WorkflowID, "create_slurm_scheduler", map[string]any{"name": c.Name})
	})
	return c, err
}

// InsertSlurmScheduler stores a scheduler and returns its id.
func InsertSlurmScheduler(tx *core.Tx, c compute.SlurmScheduler) (int64, error) {
	if err := workflow.CheckName("scheduler", c.Name); err != nil {
		return 0, err
	}
	id, err := tx.Insert(`INSERT INTO slurm_scheduler (workflow_id, name, account, gres, mem, nodes, ntasks_per_node, partition, qos, tmp,
			walltime, extra, serialize_allocations) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.WorkflowID, c.Name, c.Account, c.Gres, c.Mem, c.Nodes, c.NtasksPerNode, c.Partition, c.QOS, c.Tmp,
		c.Walltime, c.Extra, c.SerializeAllocations)
	return id, sqlite.Wrap(err, "insert slurm scheduler %q", c.Name)
}

// Get returns a Slurm scheduler; CodeNotFound if there is none with this id.
func (s SlurmSchedulers) Get(ctx context.Context, id int64) (compute.SlurmScheduler, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "slurm_scheduler", id, `SELECT `+slurmSchedulerColumns+` FROM slurm_scheduler WHERE id = ?`, scanSlurmScheduler)
}

// List returns a page of the Slurm schedulers of a workflow.
func (s SlurmSchedulers) List(ctx context.Context, workflowID int64, page sqlite.Page) ([]compute.SlurmScheduler, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, workflowID); err != nil {
		return nil, 0, err
	}
	sortable := map[string]string{}
	for _, c := range []string{"workflow_id", "name", "account", "gres", "mem", "nodes", "ntasks_per_node", "partition", "qos", "tmp",
		"walltime", "extra", "serialize_allocations"} {
		sortable[c] = c
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: slurmSchedulerColumns, From: "slurm_scheduler", Filter: sqlite.Where(`workflow_id = ?`, workflowID), Sortable: sortable, ID: "id", Page: page,
	}, scanSlurmScheduler)
}

// SlurmSchedulerUpdate is a change of a Slurm scheduler. Nil fields are kept.
type SlurmSchedulerUpdate struct {
	WorkflowID           int64 // cannot change
	Name                 *string
	Account              *string
	Gres                 *string
	Mem                  *string
	Nodes                *int64
	NtasksPerNode        *int64
	Partition            *string
	QOS                  *string
	Tmp                  *string
	Walltime             *string
	Extra                *string
	SerializeAllocations *bool
}

// Update changes a Slurm scheduler and returns it.
func (s SlurmSchedulers) Update(ctx context.Context, id int64, u SlurmSchedulerUpdate) (compute.SlurmScheduler, error) {
	var c compute.SlurmScheduler
	err := s.shared.By(ctx).Do("update slurm scheduler", func(tx *core.Tx) (err error) {
		if c, err = getSlurmScheduler(tx, id); err != nil {
			return err
		}
		if err := core.SameWorkflow("slurm_scheduler", id, c.WorkflowID, u.WorkflowID); err != nil {
			return err
		}
		before := c
		core.Set(&c.Name, u.Name)
		if err := workflow.CheckName("scheduler", c.Name); u.Name != nil && err != nil {
			return err
		}
		core.Set(&c.Account, u.Account)
		core.SetOptional(&c.Gres, u.Gres)
		core.SetOptional(&c.Mem, u.Mem)
		core.Set(&c.Nodes, u.Nodes)
		core.SetOptional(&c.NtasksPerNode, u.NtasksPerNode)
		core.SetOptional(&c.Partition, u.Partition)
		core.SetOptional(&c.QOS, u.QOS)
		core.SetOptional(&c.Tmp, u.Tmp)
		core.Set(&c.Walltime, u.Walltime)
		core.SetOptional(&c.Extra, u.Extra)
		core.Set(&c.SerializeAllocations, u.SerializeAllocations)
		if err := core.Updated(tx, c.WorkflowID, "update_slurm_scheduler", map[string]any{"name": c.Name}, before, c); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE slurm_scheduler SET name = ?, account = ?, gres = ?, mem = ?, nodes = ?, ntasks_per_node = ?, partition = ?,
				qos = ?, tmp = ?, walltime = ?, extra = ?, serialize_allocations = ? WHERE id = ?`,
			c.Name, c.Account, c.Gres, c.Mem, c.Nodes, c.NtasksPerNode, c.Partition, c.QOS, c.Tmp, c.Walltime, c.Extra, c.SerializeAllocations, id)
	})
	return c, err
}

// Delete deletes a Slurm scheduler; CodeConflict if jobs are assigned to it.
func (s SlurmSchedulers) Delete(ctx context.Context, id int64) (compute.SlurmScheduler, error) {
	var c compute.SlurmScheduler
	err := s.shared.By(ctx).Do("delete slurm scheduler", func(tx *core.Tx) (err error) {
		if c, err = getSlurmScheduler(tx, id); err != nil {
			return err
		}
		var jobs int64
		err = tx.Row(`SELECT COUNT(*) FROM job WHERE class_id IN (SELECT id FROM claim_class WHERE workflow_id = ? AND scheduler_id = ?)`,
			[]any{c.WorkflowID, id}, &jobs)
		if err != nil {
			return fmt.Errorf("count the jobs of slurm scheduler %d: %w", id, err)
		}
		if jobs > 0 {
			return workflow.Errorf(workflow.CodeConflict, "slurm scheduler %d (%s) is assigned to %s", id, c.Name, workflow.CountOf(jobs, "job", "jobs")).
				WithHint("give these jobs another scheduler first")
		}
		if err := core.Changed(tx, c.WorkflowID, "delete_slurm_scheduler", map[string]any{"name": c.Name}); err != nil {
			return err
		}
		return tx.ExecOne(`DELETE FROM slurm_scheduler WHERE id = ?`, id)
	})
	return c, err
}

// DeleteAll deletes the Slurm schedulers of a workflow without jobs, and returns how many
// there were.
func (s SlurmSchedulers) DeleteAll(_ context.Context, workflowID int64) (int64, error) {
	return core.DeleteAll(s.shared, "delete slurm schedulers", workflowID, `DELETE FROM slurm_scheduler WHERE workflow_id = ?1
		AND id NOT IN (SELECT c.scheduler_id FROM claim_class c WHERE c.workflow_id = ?1 AND EXISTS (SELECT 1 FROM job WHERE class_id = c.id))`)
}

func getSlurmScheduler(tx *core.Tx, id int64) (compute.SlurmScheduler, error) {
	return core.GetOne(tx, "slurm_scheduler", id, `SELECT `+slurmSchedulerColumns+` FROM slurm_scheduler WHERE id = ?`, scanSlurmScheduler)
}
