package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// voidLeases takes the leases of the live jobs of a workflow that meet a
// condition: their processes are to be killed, and what is still reported of
// them comes too late. Attempts that had begun are recorded as canceled. The
// jobs' statuses and fences are the caller's. In the condition ?1 is the
// workflow, and ?2 the id that is given.
func (tx *Tx) voidLeases(r *run, condition string, id int64, reason string) error {
	condition = `j.workflow_id = ?1 AND ?2 IS NOT NULL AND j.status IN (3, 4) AND (` + condition + `)`
	runners, err := tx.idsOf(`SELECT DISTINCT compute_node_id FROM job j WHERE compute_node_id IS NOT NULL AND `+condition, r.workflowID, id)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", r.workflowID, err)
	}
	tx.changes.Runners = appendNew(tx.changes.Runners, runners)
	c := workflow.ClassifyCanceled(reason, workflow.Evidence{})
	n, err := tx.exec(`INSERT INTO attempt (job_id, run_id, attempt_id, workflow_id, fence, compute_node_id, hostname, start_ms, end_ms,
			status, return_code, cause, confidence, cause_text, action, reason)
		SELECT j.id, ?11, j.attempt_id, j.workflow_id, j.fence, j.compute_node_id, n.hostname, j.start_ms, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
		FROM job j LEFT JOIN compute_node n ON n.id = j.compute_node_id WHERE j.status = 4 AND j.child_id IS NULL AND `+condition+`
		ON CONFLICT DO NOTHING`,
		r.workflowID, id, tx.nowMS, int64(c.Status), c.ReturnCode, string(c.Kind), string(c.Confidence), c.Text,
		string(workflow.ActionNone), reason, r.runID)
	if err != nil {
		return fmt.Errorf("record the canceled attempts of workflow %d: %w", r.workflowID, err)
	}
	for range n {
		tx.countCause(r, c.Kind, &workflow.Decision{})
	}
	return nil
}
