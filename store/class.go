package store

import (
	"database/sql"
	"errors"
	"fmt"
)

// classKey is what jobs have in common that are equal to whoever claims.
type classKey struct {
	priority       int64
	requirementsID int64
	schedulerID    int64  // 0: none
	labels         string // comma-joined, sorted
	login          bool   // on the daemon's host alone
}

// classOf returns the id of a claim class, which it makes if there is none.
func (tx *Tx) classOf(workflowID int64, k classKey) (id int64, err error) {
	args := []any{workflowID, k.priority, k.requirementsID, k.schedulerID, k.labels, k.login}
	err = tx.row(`SELECT id FROM claim_class
		WHERE workflow_id = ? AND priority = ? AND requirements_id = ? AND scheduler_id = ? AND labels = ? AND login = ?`, args, &id)
	if errors.Is(err, sql.ErrNoRows) {
		id, err = tx.insert(`INSERT INTO claim_class (workflow_id, priority, requirements_id, scheduler_id, labels, login) VALUES (?, ?, ?, ?, ?, ?)`, args...)
	}
	if err != nil {
		return 0, fmt.Errorf("claim class of workflow %d: %w", workflowID, err)
	}
	return id, nil
}
