package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// causeKey names a row of cause_count.
type causeKey struct {
	workflowID, runID int64
	cause             workflow.CauseKind
}

// causeCount counts attempts that ended with a cause.
type causeCount struct {
	n       int64
	retried int64 // of these, followed by another attempt
}

// countCause notes that an attempt ended. The table is brought up to date once,
// at the end of the use case.
func (tx *Tx) countCause(r *run, cause workflow.CauseKind, retried bool) {
	if tx.causes == nil {
		tx.causes = map[causeKey]causeCount{}
	}
	key := causeKey{r.workflowID, r.runID, cause}
	c := tx.causes[key]
	c.n++
	if retried {
		c.retried++
	}
	tx.causes[key] = c
}

func (tx *Tx) flushCauses() error {
	for k, c := range tx.causes {
		_, err := tx.exec(`INSERT INTO cause_count (workflow_id, run_id, cause, n, retried) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (workflow_id, run_id, cause) DO UPDATE SET n = n + ?4, retried = retried + ?5`,
			k.workflowID, k.runID, string(k.cause), c.n, c.retried)
		if err != nil {
			return fmt.Errorf("count %d attempts of workflow %d: %w", c.n, k.workflowID, err)
		}
	}
	tx.causes = nil
	return nil
}
