package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// culprit is a job that has failed for good, as the sibling rules see it.
type culprit struct {
	lease *core.LeasedJob
	cause workflow.CauseKind
	rule  workflow.SiblingRule
}

// endsSiblings checks whether a job that has failed for good ends its siblings. A job that
// is itself being ended, or belongs to a compensation, does not.
func (f *Finisher) endsSiblings(l *core.LeasedJob, e *Ending) error {
	policy, err := f.Run.Policy()
	if err != nil || len(policy.CancelSiblingsOn) == 0 || f.culprit != nil || l.Canceling || !l.Status.IsUnsuccessful() || f.Run.Compensating() {
		return err
	}
	var text string
	if err := f.tx.Row(`SELECT labels FROM claim_class WHERE id = ?`, []any{l.ClassID}, &text); err != nil {
		return fmt.Errorf("read the labels of job %d: %w", l.JobID, err)
	}
	labels, err := workflow.ParseLabels(text)
	if err != nil {
		return fmt.Errorf("read the labels of job %d: %w", l.JobID, err)
	}
	if rule, ok := policy.SiblingRuleFor(e.Cause.Kind, e.category, labels); ok {
		f.culprit = &culprit{l, e.Cause.Kind, rule}
	}
	return nil
}

// endSiblings ends the live jobs of the run: their runners end them and report. Recovery
// scripts continue.
func (f *Finisher) endSiblings() error {
	c := f.culprit
	if c == nil || f.Run.Canceled {
		return nil
	}
	f.culprit = nil
	tx, w := f.tx, f.Run.WorkflowID
	const live = `compute_node_id IN (SELECT id FROM compute_node WHERE workflow_id = ?1) AND status IN {live} AND (status = {running} OR phase = 0) AND cancel_fence != fence`
	runners, err := core.IDsOf(tx, `SELECT DISTINCT compute_node_id FROM job WHERE `+live, w)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", w, err)
	}
	text, err := json.Marshal(workflow.Culprit{JobID: c.lease.JobID, JobName: c.lease.Name, Rule: c.rule.String()})
	if err != nil {
		return fmt.Errorf("cancel the siblings of job %d: %w", c.lease.JobID, err)
	}
	n, err := tx.Exec(`UPDATE job SET cancel_fence = fence, cancel_for = NULL, ended_by = ?2 WHERE `+live, w, string(text))
	if err != nil {
		return fmt.Errorf("cancel the siblings of job %d: %w", c.lease.JobID, err)
	}
	if n == 0 {
		return nil
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, runners)
	return tx.Event(w, string(workflow.EventSiblingsCanceled), event.SeverityWarning, event.SiblingsCanceledPayload{
		Category: event.CategoryJob, RunID: f.Run.RunID, JobID: c.lease.JobID, JobName: c.lease.Name, Cause: c.cause, Rule: c.rule.String(), Count: n,
	})
}

// cancelClaimed cancels claimed jobs that were to be ended before they were started.
func cancelClaimed(tx *core.Tx, r *view.Run, ls []*core.LeasedJob) error {
	if len(ls) == 0 {
		return nil
	}
	ids, jobs := make([]int64, len(ls)), make([]Completed, len(ls))
	for i, l := range ls {
		l.Status, ids[i], jobs[i] = workflow.Canceled, l.JobID, Completed{l.JobID, workflow.Pending, workflow.Canceled}
		p := event.NewJobEndedPayload(l.JobID, l.Name, r.RunID, l.Attempt, workflow.Canceled, workflow.Cause{}, l.EndedBy.NotStartedReason())
		if err := tx.Event(r.WorkflowID, string(workflow.EventJobCanceled), event.SeverityWarning, p); err != nil {
			return err
		}
	}
	if err := cancelClaimedJobs(tx, r.WorkflowID, ids); err != nil {
		return fmt.Errorf("cancel %d jobs of workflow %d: %w", len(ids), r.WorkflowID, err)
	}
	return ReleaseDependents(tx, r.WorkflowID, jobs)
}
