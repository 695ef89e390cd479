package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const slurmSchedulerColumns = `id, workflow_id, name, account, gres, mem, nodes, ntasks_per_node, partition, qos, tmp, walltime, extra, serialize_allocations`

func scanSlurmScheduler(r rowScanner) (c workflow.SlurmScheduler, err error) {
	err = r.Scan(&c.ID, &c.WorkflowID, &c.Name, &c.Account, &c.Gres, &c.Mem, &c.Nodes, &c.NtasksPerNode, &c.Partition, &c.QOS,
		&c.Tmp, &c.Walltime, &c.Extra, &c.SerializeAllocations)
	return c, err
}

// CreateSlurmScheduler stores a shape of allocations and returns it with its
// id.
func (s *Store) CreateSlurmScheduler(_ context.Context, c workflow.SlurmScheduler) (workflow.SlurmScheduler, error) {
	err := s.writer.do("create slurm scheduler", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(c.WorkflowID); err != nil {
			return err
		}
		c.ID, err = insertSlurmScheduler(tx, c)
		return err
	})
	return c, err
}

func insertSlurmScheduler(tx *Tx, c workflow.SlurmScheduler) (int64, error) {
	if err := workflow.CheckName("scheduler", c.Name); err != nil {
		return 0, err
	}
	id, err := tx.insert(`INSERT INTO slurm_scheduler (workflow_id, name, account, gres, mem, nodes, ntasks_per_node, partition, qos, tmp,
			walltime, extra, serialize_allocations) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.WorkflowID, c.Name, c.Account, c.Gres, c.Mem, c.Nodes, c.NtasksPerNode, c.Partition, c.QOS, c.Tmp,
		c.Walltime, c.Extra, c.SerializeAllocations)
	if err != nil {
		return 0, fmt.Errorf("insert slurm scheduler %q: %w", c.Name, err)
	}
	return id, nil
}

// SlurmScheduler returns a shape of allocations.
func (s *Store) SlurmScheduler(ctx context.Context, id int64) (workflow.SlurmScheduler, error) {
	return readOne(ctx, s.read, "slurm_scheduler", id, `SELECT `+slurmSchedulerColumns+` FROM slurm_scheduler WHERE id = ?`, scanSlurmScheduler)
}

// SlurmSchedulers returns a page of the shapes of a workflow.
func (s *Store) SlurmSchedulers(ctx context.Context, workflowID int64, page Page) ([]workflow.SlurmScheduler, int64, error) {
	if err := s.requireWorkflow(ctx, workflowID); err != nil {
		return nil, 0, err
	}
	sortable := map[string]string{}
	for _, c := range []string{"workflow_id", "name", "account", "gres", "mem", "nodes", "ntasks_per_node", "partition", "qos", "tmp",
		"walltime", "extra", "serialize_allocations"} {
		sortable[c] = c
	}
	return readList(ctx, s.read, list{
		columns: slurmSchedulerColumns, from: "slurm_scheduler", filter: where(`workflow_id = ?`, workflowID), sortable: sortable, id: "id", page: page,
	}, scanSlurmScheduler)
}

// SlurmSchedulerUpdate is a change of a shape: a nil field is kept.
type SlurmSchedulerUpdate struct {
	WorkflowID           int64 // must be the same
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

// UpdateSlurmScheduler changes a shape and returns it.
func (s *Store) UpdateSlurmScheduler(_ context.Context, id int64, u SlurmSchedulerUpdate) (workflow.SlurmScheduler, error) {
	var c workflow.SlurmScheduler
	err := s.writer.do("update slurm scheduler", func(tx *Tx) (err error) {
		if c, err = getSlurmScheduler(tx, id); err != nil {
			return err
		}
		if err := sameWorkflow("slurm_scheduler", id, c.WorkflowID, u.WorkflowID); err != nil {
			return err
		}
		set(&c.Name, u.Name)
		if err := workflow.CheckName("scheduler", c.Name); u.Name != nil && err != nil {
			return err
		}
		set(&c.Account, u.Account)
		setOptional(&c.Gres, u.Gres)
		setOptional(&c.Mem, u.Mem)
		set(&c.Nodes, u.Nodes)
		setOptional(&c.NtasksPerNode, u.NtasksPerNode)
		setOptional(&c.Partition, u.Partition)
		setOptional(&c.QOS, u.QOS)
		setOptional(&c.Tmp, u.Tmp)
		set(&c.Walltime, u.Walltime)
		setOptional(&c.Extra, u.Extra)
		set(&c.SerializeAllocations, u.SerializeAllocations)
		return tx.execOne(`UPDATE slurm_scheduler SET name = ?, account = ?, gres = ?, mem = ?, nodes = ?, ntasks_per_node = ?, partition = ?,
				qos = ?, tmp = ?, walltime = ?, extra = ?, serialize_allocations = ? WHERE id = ?`,
			c.Name, c.Account, c.Gres, c.Mem, c.Nodes, c.NtasksPerNode, c.Partition, c.QOS, c.Tmp, c.Walltime, c.Extra, c.SerializeAllocations, id)
	})
	return c, err
}

// DeleteSlurmScheduler deletes a shape that no job is assigned to.
func (s *Store) DeleteSlurmScheduler(_ context.Context, id int64) (workflow.SlurmScheduler, error) {
	var c workflow.SlurmScheduler
	err := s.writer.do("delete slurm scheduler", func(tx *Tx) (err error) {
		if c, err = getSlurmScheduler(tx, id); err != nil {
			return err
		}
		var jobs int64
		err = tx.row(`SELECT COUNT(*) FROM job WHERE class_id IN (SELECT id FROM claim_class WHERE workflow_id = ? AND scheduler_id = ?)`,
			[]any{c.WorkflowID, id}, &jobs)
		if err != nil {
			return fmt.Errorf("count the jobs of slurm scheduler %d: %w", id, err)
		}
		if jobs > 0 {
			return workflow.Errorf(workflow.CodeConflict, "slurm scheduler %d (%s) is assigned to %s", id, c.Name, workflow.CountOf(jobs, "job", "jobs")).
				WithHint("give these jobs another scheduler first")
		}
		return tx.execOne(`DELETE FROM slurm_scheduler WHERE id = ?`, id)
	})
	return c, err
}

// DeleteSlurmSchedulers deletes the shapes of a workflow that no job is
// assigned to and returns how many there were.
func (s *Store) DeleteSlurmSchedulers(_ context.Context, workflowID int64) (int64, error) {
	return s.deleteAll("delete slurm schedulers", workflowID, `DELETE FROM slurm_scheduler WHERE workflow_id = ?1
		AND id NOT IN (SELECT c.scheduler_id FROM claim_class c WHERE c.workflow_id = ?1 AND EXISTS (SELECT 1 FROM job WHERE class_id = c.id))`)
}

func getSlurmScheduler(tx *Tx, id int64) (workflow.SlurmScheduler, error) {
	return getOne(tx, "slurm_scheduler", id, `SELECT `+slurmSchedulerColumns+` FROM slurm_scheduler WHERE id = ?`, scanSlurmScheduler)
}
