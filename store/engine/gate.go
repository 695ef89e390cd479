package engine

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// GateOf returns the gate of a set of dependencies of a workflow, and creates it if
// necessary. The dependencies are ascending, unique, and at least one.
func GateOf(tx *core.Tx, workflowID int64, deps []int64) (id int64, err error) {
	hash := row.HashGate(deps)
	err = tx.Row(`SELECT id FROM gate WHERE workflow_id = ? AND hash = ?`, []any{workflowID, hash[:]}, &id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find a gate of workflow %d: %w", workflowID, err)
	}
	m, err := NewGateMaker(tx, workflowID)
	if err != nil {
		return 0, err
	}
	if id, err = m.Add(hash, deps); err != nil {
		return 0, err
	}
	if err := m.Finish(); err != nil {
		return 0, err
	}
	if err := checkGate(tx, workflowID, id); err != nil {
		return 0, err
	}
	return id, CountGate(tx, id)
}

// GateMaker creates many gates of a workflow.
type GateMaker struct {
	tx         *core.Tx
	workflowID int64
	first      int64 // id of its first gate
	rows       *sqlite.Bulk
	deps       [][]int64 // of the gates from first on
}

// NewGateMaker returns a GateMaker for jobs of a workflow.
func NewGateMaker(tx *core.Tx, workflowID int64) (*GateMaker, error) {
	first, err := tx.NextID("gate")
	if err != nil {
		return nil, fmt.Errorf("number new gates of workflow %d: %w", workflowID, err)
	}
	return &GateMaker{tx: tx, workflowID: workflowID, first: first, rows: tx.NewBulk("gate", "id, workflow_id, hash, open, failed")}, nil
}

// Add creates a gate and returns its id. It counts all dependencies as open; if some may
// not be, the caller has to count again.
func (m *GateMaker) Add(hash row.GateHash, deps []int64) (int64, error) {
	id := m.first + int64(len(m.deps))
	m.deps = append(m.deps, deps)
	if err := m.rows.Add(id, m.workflowID, hash[:], len(deps), 0); err != nil {
		return 0, fmt.Errorf("insert gates of workflow %d: %w", m.workflowID, err)
	}
	return id, nil
}

// Finish writes the remaining gates, and then the dependencies, which refer to gates.
func (m *GateMaker) Finish() error {
	if err := m.rows.Flush(); err != nil {
		return fmt.Errorf("insert gates of workflow %d: %w", m.workflowID, err)
	}
	edges := m.tx.NewBulk("gate_dependency", "job_id, gate_id")
	for g, deps := range m.deps {
		for _, dep := range deps {
			if err := edges.Add(dep, m.first+int64(g)); err != nil {
				return fmt.Errorf("insert dependencies of workflow %d: %w", m.workflowID, err)
			}
		}
	}
	err := edges.Flush()
	return sqlite.Wrap(err, "insert dependencies of workflow %d", m.workflowID)
}

// checkGate rejects dependencies that are not jobs of the workflow.
func checkGate(tx *core.Tx, workflowID, id int64) error {
	var dep int64
	err := tx.Row(`SELECT d.job_id FROM gate_dependency d LEFT JOIN job j ON j.id = d.job_id
		WHERE d.gate_id = ? AND j.workflow_id IS NOT ? LIMIT 1`, []any{id, workflowID}, &dep)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check the dependencies of gate %d: %w", id, err)
	}
	if err := core.RequireIn(tx, "job", "job", workflowID, dep); err != nil {
		return err
	}
	return workflow.Errorf(workflow.CodeInvalid, "job %d does not exist", dep)
}

// CountGate sets the counters of a gate from its dependencies.
func CountGate(tx *core.Tx, id int64) error {
	err := tx.ExecOne(`UPDATE gate SET (open, failed) = (
			SELECT TOTAL(j.status NOT BETWEEN {completed} AND {disabled}), TOTAL(j.status BETWEEN {failed} AND {terminated})
			FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = gate.id)
		WHERE id = ?`, id)
	return sqlite.Wrap(err, "count the dependencies of gate %d", id)
}

// CountGates sets the counters of all gates of a workflow from their dependencies, after
// many jobs have changed their status.
func CountGates(tx *core.Tx, workflowID int64) error {
	_, err := tx.Exec(`UPDATE gate SET open = c.open, failed = c.failed
		FROM (SELECT g.id, SUM(j.status NOT BETWEEN {completed} AND {disabled}) AS open, SUM(j.status BETWEEN {failed} AND {terminated}) AS failed
			FROM gate g JOIN gate_dependency d ON d.gate_id = g.id JOIN job j ON j.id = d.job_id
			WHERE g.workflow_id = ? GROUP BY g.id) c
		WHERE gate.id = c.id AND (gate.open != c.open OR gate.failed != c.failed)`, workflowID)
	return sqlite.Wrap(err, "count the dependencies of workflow %d", workflowID)
}
