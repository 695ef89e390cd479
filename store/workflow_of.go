package store

import "context"

// Kind is a kind of rows that belong to a workflow.
type Kind string

// The kinds, named after their tables.
const (
	KindJob          Kind = "job"
	KindFile         Kind = "file"
	KindUserData     Kind = "user_data"
	KindResult       Kind = "result"
	KindEvent        Kind = "event"
	KindRequirements Kind = "resource_requirements"
)

// WorkflowOf returns the workflow that a row belongs to; CodeNotFound if there
// is no such row. Rows never move to another workflow, and ids are never used
// again, so that the answer stays true.
func (s *Store) WorkflowOf(ctx context.Context, kind Kind, id int64) (workflowID int64, err error) {
	table := string(kind)
	err = s.read.QueryRowContext(ctx, `SELECT workflow_id FROM `+table+` WHERE id = ?`, id).Scan(&workflowID)
	return workflowID, orNotFound(err, table, id)
}
