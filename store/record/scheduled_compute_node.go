package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

const scheduledColumns = `id, workflow_id, scheduler_id, scheduler_config_id, scheduler_type, status`

func scanScheduled(r sqlite.Scanner) (n compute.ScheduledNode, err error) {
	err = r.Scan(&n.ID, &n.WorkflowID, &n.SchedulerID, &n.SchedulerConfigID, &n.SchedulerType, &n.Status)
	return n, err
}

// Create stores an allocation that a torc client requested, and returns it with its id.
func (s ScheduledComputeNodes) Create(_ context.Context, n compute.ScheduledNode) (compute.ScheduledNode, error) {
	err := s.shared.Do("create scheduled compute node", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, n.WorkflowID); err != nil {
			return err
		}
		n.ID, err = tx.Insert(`INSERT INTO scheduled_compute_node (workflow_id, scheduler_id, scheduler_config_id, scheduler_type, status) VALUES (?, ?, ?, ?, ?)`,
			n.WorkflowID, n.SchedulerID, n.SchedulerConfigID, n.SchedulerType, n.Status)
		if err != nil {
			return fmt.Errorf("insert scheduled compute node %d: %w", n.SchedulerID, err)
		}
		return tx.Event(n.WorkflowID, string(workflow.EventSchedulerNodeCreated), event.SeverityInfo, map[string]any{
			"category": event.CategoryScheduler, "scheduled_compute_node_id": n.ID, "scheduler_id": n.SchedulerID,
			"scheduler_config_id": n.SchedulerConfigID, "scheduler_type": n.SchedulerType, "status": n.Status,
		})
	})
	return n, err
}

// Get returns a requested allocation; CodeNotFound if there is none with this id.
func (s ScheduledComputeNodes) Get(ctx context.Context, id int64) (compute.ScheduledNode, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "scheduled_compute_node", id, `SELECT `+scheduledColumns+` FROM scheduled_compute_node WHERE id = ?`, scanScheduled)
}

// ScheduledFilter selects requested allocations of a workflow. Nil fields match all.
type ScheduledFilter struct {
	WorkflowID        int64
	SchedulerID       *int64
	SchedulerConfigID *int64
	Status            *string
}

// List returns a page of the requested allocations of a workflow, and how many match in
// all.
func (s ScheduledComputeNodes) List(ctx context.Context, q ScheduledFilter, page sqlite.Page) ([]compute.ScheduledNode, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "scheduler_id", q.SchedulerID)
	sqlite.Equal(f, "scheduler_config_id", q.SchedulerConfigID)
	sqlite.Equal(f, "status", q.Status)
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: scheduledColumns, From: "scheduled_compute_node", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{"workflow_id": "workflow_id", "scheduler_id": "scheduler_id",
			"scheduler_config_id": "scheduler_config_id", "scheduler_type": "scheduler_type", "status": "status"},
	}, scanScheduled)
}

// Update replaces the fields of an allocation. Its workflow cannot change.
func (s ScheduledComputeNodes) Update(_ context.Context, n compute.ScheduledNode) (compute.ScheduledNode, error) {
	err := s.shared.Do("update scheduled compute node", func(tx *core.Tx) error {
		stored, err := getScheduled(tx, n.ID)
		if err != nil {
			return err
		}
		if err := core.SameWorkflow("scheduled_compute_node", n.ID, stored.WorkflowID, n.WorkflowID); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE scheduled_compute_node SET scheduler_id = ?, scheduler_config_id = ?, scheduler_type = ?, status = ? WHERE id = ?`,
			n.SchedulerID, n.SchedulerConfigID, n.SchedulerType, n.Status, n.ID)
	})
	return n, err
}

// Delete deletes the row of an allocation and returns it.
func (s ScheduledComputeNodes) Delete(_ context.Context, id int64) (compute.ScheduledNode, error) {
	var n compute.ScheduledNode
	err := s.shared.Do("delete scheduled compute node", func(tx *core.Tx) (err error) {
		if n, err = getScheduled(tx, id); err != nil {
			return err
		}
		return tx.ExecOne(`DELETE FROM scheduled_compute_node WHERE id = ?`, id)
	})
	return n, err
}

// DeleteAll deletes the rows of all allocations of a workflow, and returns how many there
// were.
func (s ScheduledComputeNodes) DeleteAll(_ context.Context, workflowID int64) (int64, error) {
	return core.DeleteAll(s.shared, "delete scheduled compute nodes", workflowID, `DELETE FROM scheduled_compute_node WHERE workflow_id = ?`)
}

func getScheduled(tx *core.Tx, id int64) (compute.ScheduledNode, error) {
	return core.GetOne(tx, "scheduled_compute_node", id, `SELECT `+scheduledColumns+` FROM scheduled_compute_node WHERE id = ?`, scanScheduled)
}
