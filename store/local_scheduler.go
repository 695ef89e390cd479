package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const localSchedulerColumns = `id, workflow_id, memory, num_cpus`

func scanLocalScheduler(r rowScanner) (c workflow.LocalScheduler, err error) {
	err = r.Scan(&c.ID, &c.WorkflowID, &c.Memory, &c.NumCPUs)
	return c, err
}

// CreateLocalScheduler stores what local runners may use and returns it with
// its id.
func (s *Store) CreateLocalScheduler(_ context.Context, c workflow.LocalScheduler) (workflow.LocalScheduler, error) {
	err := s.writer.do("create local scheduler", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(c.WorkflowID); err != nil {
			return err
		}
		c.ID, err = tx.insert(`INSERT INTO local_scheduler (workflow_id, memory, num_cpus) VALUES (?, ?, ?)`, c.WorkflowID, c.Memory, c.NumCPUs)
		if err != nil {
			return fmt.Errorf("insert local scheduler: %w", err)
		}
		return nil
	})
	return c, err
}

// LocalScheduler returns what local runners may use.
func (s *Store) LocalScheduler(ctx context.Context, id int64) (workflow.LocalScheduler, error) {
	return readOne(ctx, s.read, "local_scheduler", id, `SELECT `+localSchedulerColumns+` FROM local_scheduler WHERE id = ?`, scanLocalScheduler)
}

// LocalSchedulers returns a page of the local schedulers of a workflow.
func (s *Store) LocalSchedulers(ctx context.Context, workflowID int64, page Page) ([]workflow.LocalScheduler, int64, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, 0, err
	}
	return readList(ctx, s.read, list{
		columns: localSchedulerColumns, from: "local_scheduler", filter: where(`workflow_id = ?`, workflowID), id: "id", page: page,
		sortable: map[string]string{"workflow_id": "workflow_id", "memory": "memory", "num_cpus": "num_cpus"},
	}, scanLocalScheduler)
}

// LocalSchedulerUpdate is a change of a local scheduler: a nil field is kept.
type LocalSchedulerUpdate struct {
	WorkflowID int64 // must be the same
	Memory     *string
	NumCPUs    *int64
}

// UpdateLocalScheduler changes a local scheduler and returns it.
func (s *Store) UpdateLocalScheduler(_ context.Context, id int64, u LocalSchedulerUpdate) (workflow.LocalScheduler, error) {
	var c workflow.LocalScheduler
	err := s.writer.do("update local scheduler", func(tx *Tx) (err error) {
		if c, err = getLocalScheduler(tx, id); err != nil {
			return err
		}
		if err := sameWorkflow("local_scheduler", id, c.WorkflowID, u.WorkflowID); err != nil {
			return err
		}
		set(&c.Memory, u.Memory)
		set(&c.NumCPUs, u.NumCPUs)
		return tx.execOne(`UPDATE local_scheduler SET memory = ?, num_cpus = ? WHERE id = ?`, c.Memory, c.NumCPUs, id)
	})
	return c, err
}

// DeleteLocalScheduler deletes a local scheduler and returns it.
func (s *Store) DeleteLocalScheduler(_ context.Context, id int64) (workflow.LocalScheduler, error) {
	var c workflow.LocalScheduler
	err := s.writer.do("delete local scheduler", func(tx *Tx) (err error) {
		if c, err = getLocalScheduler(tx, id); err != nil {
			return err
		}
		return tx.execOne(`DELETE FROM local_scheduler WHERE id = ?`, id)
	})
	return c, err
}

// DeleteLocalSchedulers deletes the local schedulers of a workflow and returns
// how many there were.
func (s *Store) DeleteLocalSchedulers(_ context.Context, workflowID int64) (int64, error) {
	return s.deleteAll("delete local schedulers", workflowID, `DELETE FROM local_scheduler WHERE workflow_id = ?`)
}

func getLocalScheduler(tx *Tx, id int64) (workflow.LocalScheduler, error) {
	return getOne(tx, "local_scheduler", id, `SELECT `+localSchedulerColumns+` FROM local_scheduler WHERE id = ?`, scanLocalScheduler)
}
