package record

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

const localSchedulerColumns = `id, workflow_id, memory, num_cpus`

func scanLocalScheduler(r sqlite.Scanner) (c compute.LocalScheduler, err error) {
	err = r.Scan(&c.ID, &c.WorkflowID, &c.Memory, &c.NumCPUs)
	return c, err
}

// Create stores the limits of local runners and returns them with their id.
func (s LocalSchedulers) Create(_ context.Context, c compute.LocalScheduler) (compute.LocalScheduler, error) {
	err := s.shared.Do("create local scheduler", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, c.WorkflowID); err != nil {
			return err
		}
		c.ID, err = tx.Insert(`INSERT INTO local_scheduler (workflow_id, memory, num_cpus) VALUES (?, ?, ?)`, c.WorkflowID, c.Memory, c.NumCPUs)
		return sqlite.Wrap(err, "insert local scheduler")
	})
	return c, err
}

// Get returns the limits of local runners; CodeNotFound if there are none with this id.
func (s LocalSchedulers) Get(ctx context.Context, id int64) (compute.LocalScheduler, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "local_scheduler", id, `SELECT `+localSchedulerColumns+` FROM local_scheduler WHERE id = ?`, scanLocalScheduler)
}

// List returns a page of the local schedulers of a workflow.
func (s LocalSchedulers) List(ctx context.Context, workflowID int64, page sqlite.Page) ([]compute.LocalScheduler, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, workflowID); err != nil {
		return nil, 0, err
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: localSchedulerColumns, From: "local_scheduler", Filter: sqlite.Where(`workflow_id = ?`, workflowID), ID: "id", Page: page,
		Sortable: map[string]string{"workflow_id": "workflow_id", "memory": "memory", "num_cpus": "num_cpus"},
	}, scanLocalScheduler)
}

// LocalSchedulerUpdate is a change of a local scheduler. Nil fields are kept.
type LocalSchedulerUpdate struct {
	WorkflowID int64 // cannot change
	Memory     *string
	NumCPUs    *int64
}

// Update changes a local scheduler and returns it.
func (s LocalSchedulers) Update(_ context.Context, id int64, u LocalSchedulerUpdate) (compute.LocalScheduler, error) {
	var c compute.LocalScheduler
	err := s.shared.Do("update local scheduler", func(tx *core.Tx) (err error) {
		if c, err = getLocalScheduler(tx, id); err != nil {
			return err
		}
		if err := core.SameWorkflow("local_scheduler", id, c.WorkflowID, u.WorkflowID); err != nil {
			return err
		}
		core.Set(&c.Memory, u.Memory)
		core.Set(&c.NumCPUs, u.NumCPUs)
		return tx.ExecOne(`UPDATE local_scheduler SET memory = ?, num_cpus = ? WHERE id = ?`, c.Memory, c.NumCPUs, id)
	})
	return c, err
}

// Delete deletes a local scheduler and returns it.
func (s LocalSchedulers) Delete(_ context.Context, id int64) (compute.LocalScheduler, error) {
	var c compute.LocalScheduler
	err := s.shared.Do("delete local scheduler", func(tx *core.Tx) (err error) {
		if c, err = getLocalScheduler(tx, id); err != nil {
			return err
		}
		return tx.ExecOne(`DELETE FROM local_scheduler WHERE id = ?`, id)
	})
	return c, err
}

// DeleteAll deletes the local schedulers of a workflow, and returns how many there were.
func (s LocalSchedulers) DeleteAll(_ context.Context, workflowID int64) (int64, error) {
	return core.DeleteAll(s.shared, "delete local schedulers", workflowID, `DELETE FROM local_scheduler WHERE workflow_id = ?`)
}

func getLocalScheduler(tx *core.Tx, id int64) (compute.LocalScheduler, error) {
	return core.GetOne(tx, "local_scheduler", id, `SELECT `+localSchedulerColumns+` FROM local_scheduler WHERE id = ?`, scanLocalScheduler)
}
