package core

import (
	"database/sql"
	"errors"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
)

// ClassKey is what jobs that are equal for claiming have in common.
type ClassKey struct {
	Priority       int64
	RequirementsID int64
	SchedulerID    int64  // 0: none
	Labels         string // comma-joined, sorted
	Login          bool   // only on the daemon's host
	Held           bool   // a user holds its jobs: no runner claims them
}

// ClassOf returns the id of a claim class. It inserts the class if there is none.
func ClassOf(tx *Tx, workflowID int64, k ClassKey) (id int64, err error) {
	labels := k.Labels
	if k.Held {
		labels += "," // see migration 7
	}
	args := []any{workflowID, k.Priority, k.RequirementsID, k.SchedulerID, labels, k.Login, k.Held}
	err = tx.Row(`SELECT id FROM claim_class
		WHERE workflow_id = ? AND priority = ? AND requirements_id = ? AND scheduler_id = ? AND labels = ? AND login = ? AND held = ?`, args, &id)
	if errors.Is(err, sql.ErrNoRows) {
		id, err = tx.Insert(`INSERT INTO claim_class (workflow_id, priority, requirements_id, scheduler_id, labels, login, held) VALUES (?, ?, ?, ?, ?, ?, ?)`, args...)
	}
	return id, sqlite.Wrap(err, "claim class of workflow %d", workflowID)
}

// LoadClassKey reads what the jobs of a class have in common.
func LoadClassKey(tx *Tx, id int64) (k ClassKey, err error) {
	err = tx.Row(`SELECT priority, requirements_id, scheduler_id, rtrim(labels, ','), login, held FROM claim_class WHERE id = ?`, []any{id},
		&k.Priority, &k.RequirementsID, &k.SchedulerID, &k.Labels, &k.Login, &k.Held)
	return k, sqlite.Wrap(err, "read claim class %d", id)
}

// ReadyClasses returns the classes of a workflow with claimable jobs.
func ReadyClasses(tx *Tx, workflowID int64) ([]view.JobClass, error) {
	return ClassesWhere(tx, workflowID, `WHERE c.workflow_id = ?1 AND c.held = 0 AND EXISTS (SELECT 1 FROM job WHERE class_id = c.id AND status = {ready} AND not_before_ms <= ?2)`,
		workflowID, tx.NowMS)
}

// ClassesWhere reads the classes that meet a condition, by id.
func ClassesWhere(tx *Tx, workflowID int64, condition string, args ...any) ([]view.JobClass, error) {
	classes, err := sqlite.Select(tx, view.ScanClass, view.SelectClasses+condition+` ORDER BY c.id`, args...)
	return classes, sqlite.Wrap(err, "read the claim classes of workflow %d", workflowID)
}

// LoadClass reads a class.
func LoadClass(tx *Tx, id int64) (view.JobClass, error) {
	return GetOne(tx, "claim_class", id, view.SelectClasses+`WHERE c.id = ?`, view.ScanClass)
}
