package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// RetryClassified makes a held job ready for another attempt, if one is allowed. It returns
// the requirements of that attempt; empty: the same.
func (f *Finisher) RetryClassified(l *core.LeasedJob, cause workflow.Cause, v retry.RetryVerdict) (n *Next, asks string, err error) {
	g := f.NewFacts(l)
	g.Retried = &v
	if g.Policies, err = f.Policies(l.JobID, l.RunnerID, &g.History); err != nil {
		return nil, "", err
	}
	if err := f.complete(l, g); err != nil {
		return nil, "", err
	}
	o := retry.Decide(g.Facts)
	if o.Refused != nil {
		return nil, "", o.Refused
	}
	n, err = f.Continue(l, g, &o, cause)
	return n, o.Said, err
}

// RecordClassification records who ended a hold, and why, and remembers it for failures like
// this one.
func RecordClassification(tx *core.Tx, r *view.Run, l *core.LeasedJob, w hold.Classification, asks string, failure hold.AlikeFailure) error {
	memory, err := rememberVerdict(tx, r, l, w, failure)
	if err != nil {
		return err
	}
	_, err = tx.Insert(`INSERT INTO classification (workflow_id, job_id, run_id, attempt_id, at_ms, status, author, reason, confidence, memory, runtime,
			num_cpus, fingerprint, memory_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.WorkflowID, l.JobID, r.RunID, l.Attempt, tx.NowMS, int64(w.Status), w.Author, w.Reason, string(w.Confidence), w.Memory, w.Runtime,
		w.NumCPUs, failure.Fingerprint, memory)
	if err != nil {
		return fmt.Errorf("record the classification of job %d: %w", l.JobID, err)
	}
	return tx.Event(r.WorkflowID, string(workflow.EventJobClassified), event.SeverityInfo, event.JobClassifiedPayload{
		JobID: l.JobID, JobName: l.Name, RunID: r.RunID, Status: w.Status, Author: w.Author, Reason: w.Reason, Confidence: w.Confidence, Asks: asks,
	})
}
