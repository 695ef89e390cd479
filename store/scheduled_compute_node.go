package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const scheduledColumns = `id, workflow_id, scheduler_id, scheduler_config_id, scheduler_type, status`

func scanScheduled(r rowScanner) (n workflow.ScheduledComputeNode, err error) {
	err = r.Scan(&n.ID, &n.WorkflowID, &n.SchedulerID, &n.SchedulerConfigID, &n.SchedulerType, &n.Status)
	return n, err
}

// CreateScheduledComputeNode stores an allocation that a torc client asked
// for, and returns it with its id.
func (s *Store) CreateScheduledComputeNode(_ context.Context, n workflow.ScheduledComputeNode) (workflow.ScheduledComputeNode, error) {
	err := s.writer.do("create scheduled compute node", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(n.WorkflowID); err != nil {
			return err
		}
		n.ID, err = tx.insert(`INSERT INTO scheduled_compute_node (workflow_id, scheduler_id, scheduler_config_id, scheduler_type, status) VALUES (?, ?, ?, ?, ?)`,
			n.WorkflowID, n.SchedulerID, n.SchedulerConfigID, n.SchedulerType, n.Status)
		if err != nil {
			return fmt.Errorf("insert scheduled compute node %d: %w", n.SchedulerID, err)
		}
		return tx.event(n.WorkflowID, string(workflow.EventSchedulerNodeCreated), workflow.SeverityInfo, map[string]any{
			"category": workflow.CategoryScheduler, "scheduled_compute_node_id": n.ID, "scheduler_id": n.SchedulerID,
			"scheduler_config_id": n.SchedulerConfigID, "scheduler_type": n.SchedulerType, "status": n.Status,
		})
	})
	return n, err
}

// ScheduledComputeNode returns an allocation that was asked for.
func (s *Store) ScheduledComputeNode(ctx context.Context, id int64) (workflow.ScheduledComputeNode, error) {
	return readOne(ctx, s.read, "scheduled_compute_node", id, `SELECT `+scheduledColumns+` FROM scheduled_compute_node WHERE id = ?`, scanScheduled)
}

// ScheduledFilter says which allocations of a workflow are wanted; nil fields
// do not matter.
type ScheduledFilter struct {
	WorkflowID        int64
	SchedulerID       *int64
	SchedulerConfigID *int64
	Status            *string
}

// ScheduledComputeNodes returns a page of the allocations of a workflow.
func (s *Store) ScheduledComputeNodes(ctx context.Context, q ScheduledFilter, page Page) ([]workflow.ScheduledComputeNode, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	equal(f, "scheduler_id", q.SchedulerID)
	equal(f, "scheduler_config_id", q.SchedulerConfigID)
	equal(f, "status", q.Status)
	return readList(ctx, s.read, list{
		columns: scheduledColumns, from: "scheduled_compute_node", filter: f, id: "id", page: page,
		sortable: map[string]string{"workflow_id": "workflow_id", "scheduler_id": "scheduler_id",
			"scheduler_config_id": "scheduler_config_id", "scheduler_type": "scheduler_type", "status": "status"},
	}, scanScheduled)
}

// UpdateScheduledComputeNode replaces an allocation's fields. Its workflow must
// be the same.
func (s *Store) UpdateScheduledComputeNode(_ context.Context, n workflow.ScheduledComputeNode) (workflow.ScheduledComputeNode, error) {
	err := s.writer.do("update scheduled compute node", func(tx *Tx) error {
		stored, err := getScheduled(tx, n.ID)
		if err != nil {
			return err
		}
		if err := sameWorkflow("scheduled_compute_node", n.ID, stored.WorkflowID, n.WorkflowID); err != nil {
			return err
		}
		return tx.execOne(`UPDATE scheduled_compute_node SET scheduler_id = ?, scheduler_config_id = ?, scheduler_type = ?, status = ? WHERE id = ?`,
			n.SchedulerID, n.SchedulerConfigID, n.SchedulerType, n.Status, n.ID)
	})
	return n, err
}

// DeleteScheduledComputeNode forgets an allocation and returns it.
func (s *Store) DeleteScheduledComputeNode(_ context.Context, id int64) (workflow.ScheduledComputeNode, error) {
	var n workflow.ScheduledComputeNode
	err := s.writer.do("delete scheduled compute node", func(tx *Tx) (err error) {
		if n, err = getScheduled(tx, id); err != nil {
			return err
		}
		return tx.execOne(`DELETE FROM scheduled_compute_node WHERE id = ?`, id)
	})
	return n, err
}

// DeleteScheduledComputeNodes forgets all allocations of a workflow and returns
// how many there were.
func (s *Store) DeleteScheduledComputeNodes(_ context.Context, workflowID int64) (int64, error) {
	return s.deleteAll("delete scheduled compute nodes", workflowID, `DELETE FROM scheduled_compute_node WHERE workflow_id = ?`)
}

func getScheduled(tx *Tx, id int64) (workflow.ScheduledComputeNode, error) {
	return getOne(tx, "scheduled_compute_node", id, `SELECT `+scheduledColumns+` FROM scheduled_compute_node WHERE id = ?`, scanScheduled)
}
