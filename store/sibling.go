package store

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// culprit is a job that failed for good, as rules for its siblings look at it.
type culprit struct {
	lease *lease
	cause workflow.CauseKind
	rule  workflow.SiblingRule
}

// endsSiblings notes whether a job that failed for good has its siblings ended.
// One that is itself being ended has not, nor has one of a compensation.
func (f *finisher) endsSiblings(l *lease, e *ending) error {
	policy, err := f.run.policy()
	if err != nil || len(policy.CancelSiblingsOn) == 0 || f.culprit != nil || l.canceling || !l.status.IsUnsuccessful() || f.run.compensating() {
		return err
	}
	var text string
	if err := f.tx.row(`SELECT labels FROM claim_class WHERE id = ?`, []any{l.classID}, &text); err != nil {
		return fmt.Errorf("read the labels of job %d: %w", l.JobID, err)
	}
	labels, err := workflow.ParseLabels(text)
	if err != nil {
		return fmt.Errorf("read the labels of job %d: %w", l.JobID, err)
	}
	if rule, ok := policy.CancelsSiblings(e.cause.Kind, e.category, labels); ok {
		f.culprit = &culprit{l, e.cause.Kind, rule}
	}
	return nil
}

// endSiblings has the live jobs of the run ended: their runners are told, and
// report how they ended. Recovery scripts are left alone.
func (f *finisher) endSiblings() error {
	c := f.culprit
	if c == nil || f.run.canceled {
		return nil
	}
	f.culprit = nil
	tx, w := f.tx, f.run.workflowID
	const live = `compute_node_id IN (SELECT id FROM compute_node WHERE workflow_id = ?1) AND status IN (3, 4) AND (status = 4 OR phase = 0) AND cancel_fence != fence`
	runners, err := tx.idsOf(`SELECT DISTINCT compute_node_id FROM job WHERE `+live, w)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", w, err)
	}
	text, err := json.Marshal(workflow.Culprit{JobID: c.lease.JobID, JobName: c.lease.name, Rule: c.rule.String()})
	if err != nil {
		return fmt.Errorf("cancel the siblings of job %d: %w", c.lease.JobID, err)
	}
	n, err := tx.exec(`UPDATE job SET cancel_fence = fence, cancel_for = NULL, ended_by = ?2 WHERE `+live, w, string(text))
	if err != nil {
		return fmt.Errorf("cancel the siblings of job %d: %w", c.lease.JobID, err)
	}
	if n == 0 {
		return nil
	}
	tx.changes.Runners = appendNew(tx.changes.Runners, runners)
	return tx.event(w, string(workflow.EventSiblingsCanceled), workflow.SeverityWarning, workflow.SiblingsCanceledPayload{
		Category: workflow.CategoryJob, RunID: f.run.runID, JobID: c.lease.JobID, JobName: c.lease.name, Cause: c.cause, Rule: c.rule.String(), Count: n,
	})
}

// cancelClaimed cancels claimed jobs that were to be ended and were not started.
func (tx *Tx) cancelClaimed(r *run, ls []*lease) error {
	if len(ls) == 0 {
		return nil
	}
	ids, jobs := make([]int64, len(ls)), make([]completion, len(ls))
	for i, l := range ls {
		l.status, ids[i], jobs[i] = workflow.Canceled, l.JobID, completion{l.JobID, workflow.Pending, workflow.Canceled}
		p := workflow.NewJobEndedPayload(l.JobID, l.name, r.runID, l.Attempt, workflow.Canceled, workflow.Cause{}, l.endedBy.NotStarted())
		if err := tx.event(r.workflowID, string(workflow.EventJobCanceled), workflow.SeverityWarning, p); err != nil {
			return err
		}
	}
	n, err := tx.exec(`UPDATE job SET status = 7, claimed_ms = NULL WHERE id IN (SELECT value FROM json_each(?)) AND status = 3 AND phase = 0`, idList(ids))
	if err == nil && n != int64(len(ids)) {
		err = fmt.Errorf("%w: %d of %d", errNoRow, n, len(ids))
	}
	if err != nil {
		return fmt.Errorf("cancel %d jobs of workflow %d: %w", len(ids), r.workflowID, err)
	}
	tx.move(r.workflowID, workflow.Pending, workflow.Canceled, n)
	return tx.completed(r.workflowID, jobs)
}
