package core

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// causeKey identifies a row of cause_count.
type causeKey struct {
	workflowID, runID int64
	cause             workflow.CauseKind
}

// causeCount counts attempts that ended with the same cause.
type causeCount struct {
	n       int64
	retried int64 // of these, retried
	counted int64 // of those, with a retry that used budget
}

// CountCause counts the end of an attempt. The table is updated once, at the end of the use
// case.
func (tx *Tx) CountCause(r *view.Run, cause workflow.CauseKind, d *workflow.Decision) {
	if tx.causes == nil {
		tx.causes = map[causeKey]causeCount{}
	}
	key := causeKey{r.WorkflowID, r.RunID, cause}
	c := tx.causes[key]
	c.n++
	if d.Retries() {
		c.retried++
	}
	if d.Counted {
		c.counted++
	}
	tx.causes[key] = c
}

// UncountCause reverts CountCause for an attempt of an earlier use case.
func (tx *Tx) UncountCause(r *view.Run, cause workflow.CauseKind, d *workflow.Decision) error {
	err := tx.ExecOne(`UPDATE cause_count SET n = n - 1, retried = retried - ?4, counted = counted - ?5 WHERE workflow_id = ?1 AND run_id = ?2 AND cause = ?3`,
		r.WorkflowID, r.RunID, string(cause), d.Retries(), d.Counted)
	return sqlite.Wrap(err, "uncount an attempt of workflow %d", r.WorkflowID)
}

// FlushCauses writes the collected counts.
func (tx *Tx) FlushCauses() error {
	for k, c := range tx.causes {
		_, err := tx.Exec(`INSERT INTO cause_count (workflow_id, run_id, cause, n, retried, counted) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT (workflow_id, run_id, cause) DO UPDATE SET n = n + ?4, retried = retried + ?5, counted = counted + ?6`,
			k.workflowID, k.runID, string(k.cause), c.n, c.retried, c.counted)
		if err != nil {
			return fmt.Errorf("count %d attempts of workflow %d: %w", c.n, k.workflowID, err)
		}
	}
	tx.causes = nil
	return nil
}

// CountedRetries returns how many retries of all jobs used budget in a run, including those
// of this transaction.
func CountedRetries(tx *Tx, r *view.Run) (n int64, err error) {
	if n, err = (view.PolicySource{Row: tx.Row}).CountedRetries(r); err != nil {
		return 0, err
	}
	for k, c := range tx.causes {
		if k.workflowID == r.WorkflowID && k.runID == r.RunID {
			n += c.counted
		}
	}
	return n, nil
}
