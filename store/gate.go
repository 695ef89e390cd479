package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// gateHash identifies a set of dependencies.
type gateHash [24]byte

// hashGate returns the hash of a set of dependencies, which are ascending and
// without repeats. The lowest comes first, so that gates that are made one
// after the other mostly lie side by side in the index.
func hashGate(deps []int64) (h gateHash) {
	buf := make([]byte, 0, 10*len(deps))
	for _, id := range deps {
		buf = binary.AppendUvarint(buf, uint64(id))
	}
	sum := sha256.Sum256(buf)
	if len(deps) > 0 {
		binary.BigEndian.PutUint64(h[:], uint64(deps[0]))
	}
	copy(h[8:], sum[:])
	return h
}

// gateOf returns the gate of a set of dependencies of a workflow, which it
// makes if there is none. They are ascending, without repeats, and at least one.
func (tx *Tx) gateOf(workflowID int64, deps []int64) (id int64, err error) {
	hash := hashGate(deps)
	err = tx.row(`SELECT id FROM gate WHERE workflow_id = ? AND hash = ?`, []any{workflowID, hash[:]}, &id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find a gate of workflow %d: %w", workflowID, err)
	}
	m, err := newGateMaker(tx, workflowID)
	if err != nil {
		return 0, err
	}
	if id, err = m.add(hash, deps); err != nil {
		return 0, err
	}
	if err := m.finish(); err != nil {
		return 0, err
	}
	if err := tx.checkGate(workflowID, id); err != nil {
		return 0, err
	}
	return id, tx.countGate(id)
}

// gateMaker makes many gates of a workflow.
type gateMaker struct {
	tx         *Tx
	workflowID int64
	first      int64 // id of its first gate
	rows       *bulk
	deps       [][]int64 // of the gates from first on
}

func newGateMaker(tx *Tx, workflowID int64) (*gateMaker, error) {
	first, err := tx.nextID("gate")
	if err != nil {
		return nil, fmt.Errorf("number new gates of workflow %d: %w", workflowID, err)
	}
	return &gateMaker{tx: tx, workflowID: workflowID, first: first, rows: newBulk(tx, "gate", "id, workflow_id, hash, open, failed")}, nil
}

// add makes a gate and returns its id. It counts all dependencies as open;
// where they may not be, the caller counts again.
func (m *gateMaker) add(hash gateHash, deps []int64) (int64, error) {
	id := m.first + int64(len(m.deps))
	m.deps = append(m.deps, deps)
	if err := m.rows.add(id, m.workflowID, hash[:], len(deps), 0); err != nil {
		return 0, fmt.Errorf("insert gates of workflow %d: %w", m.workflowID, err)
	}
	return id, nil
}

// finish writes what was not written yet: the rest of the gates, and then their
// dependencies, which refer to them.
func (m *gateMaker) finish() error {
	if err := m.rows.flush(); err != nil {
		return fmt.Errorf("insert gates of workflow %d: %w", m.workflowID, err)
	}
	edges := newBulk(m.tx, "gate_dependency", "job_id, gate_id")
	for g, deps := range m.deps {
		for _, dep := range deps {
			if err := edges.add(dep, m.first+int64(g)); err != nil {
				return fmt.Errorf("insert dependencies of workflow %d: %w", m.workflowID, err)
			}
		}
	}
	if err := edges.flush(); err != nil {
		return fmt.Errorf("insert dependencies of workflow %d: %w", m.workflowID, err)
	}
	return nil
}

// checkGate refuses dependencies that are not jobs of the workflow.
func (tx *Tx) checkGate(workflowID, id int64) error {
	var dep int64
	err := tx.row(`SELECT d.job_id FROM gate_dependency d LEFT JOIN job j ON j.id = d.job_id
		WHERE d.gate_id = ? AND j.workflow_id IS NOT ? LIMIT 1`, []any{id, workflowID}, &dep)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check the dependencies of gate %d: %w", id, err)
	}
	if err := tx.requireIn("job", "job", workflowID, dep); err != nil {
		return err
	}
	return workflow.Errorf(workflow.CodeInvalid, "job %d does not exist", dep)
}

// countGate sets the counters of a gate from its dependencies.
func (tx *Tx) countGate(id int64) error {
	err := tx.execOne(`UPDATE gate SET (open, failed) = (
			SELECT TOTAL(j.status NOT BETWEEN 5 AND 9), TOTAL(j.status BETWEEN 6 AND 8)
			FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = gate.id)
		WHERE id = ?`, id)
	if err != nil {
		return fmt.Errorf("count the dependencies of gate %d: %w", id, err)
	}
	return nil
}

// countGates sets the counters of all gates of a workflow from their
// dependencies, after the statuses of many jobs have changed.
func (tx *Tx) countGates(workflowID int64) error {
	_, err := tx.exec(`UPDATE gate SET open = c.open, failed = c.failed
		FROM (SELECT g.id, SUM(j.status NOT BETWEEN 5 AND 9) AS open, SUM(j.status BETWEEN 6 AND 8) AS failed
			FROM gate g JOIN gate_dependency d ON d.gate_id = g.id JOIN job j ON j.id = d.job_id
			WHERE g.workflow_id = ? GROUP BY g.id) c
		WHERE gate.id = c.id AND (gate.open != c.open OR gate.failed != c.failed)`, workflowID)
	if err != nil {
		return fmt.Errorf("count the dependencies of workflow %d: %w", workflowID, err)
	}
	return nil
}
