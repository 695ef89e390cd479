package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// gateHash identifies a set of dependencies, which are ascending and without
// repeats.
func gateHash(deps []int64) [sha256.Size]byte {
	buf := make([]byte, 0, 10*len(deps))
	for _, id := range deps {
		buf = binary.AppendUvarint(buf, uint64(id))
	}
	return sha256.Sum256(buf)
}

// gateOf returns the gate of a set of dependencies of a workflow, which it
// makes if there is none. They are ascending, without repeats, and at least one.
func (tx *Tx) gateOf(workflowID int64, deps []int64) (id int64, err error) {
	hash := gateHash(deps)
	err = tx.row(`SELECT id FROM gate WHERE workflow_id = ? AND hash = ?`, []any{workflowID, hash[:]}, &id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find a gate of workflow %d: %w", workflowID, err)
	}
	id, err = tx.insert(`INSERT INTO gate (workflow_id, hash, open, failed) VALUES (?, ?, 0, 0)`, workflowID, hash[:])
	if err != nil {
		return 0, fmt.Errorf("insert a gate of workflow %d: %w", workflowID, err)
	}
	edges := newBulk(tx, "gate_dependency", "job_id, gate_id")
	for _, dep := range deps {
		if err := edges.add(dep, id); err != nil {
			return 0, fmt.Errorf("insert the dependencies of gate %d: %w", id, err)
		}
	}
	if err := edges.flush(); err != nil {
		return 0, fmt.Errorf("insert the dependencies of gate %d: %w", id, err)
	}
	if err := tx.checkGate(workflowID, id); err != nil {
		return 0, err
	}
	return id, tx.countGate(id)
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
