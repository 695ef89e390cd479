package store

import (
	"cmp"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// weighOOM adds to a report what the job's policies say about kills for memory of which
// it is in doubt whose they are.
func (f *finisher) weighOOM(l *lease, rep *Report) error {
	if rep.Evidence.OOMShare == nil {
		return nil
	}
	share := *rep.Evidence.OOMShare // the caller's is not to change
	rep.Evidence.OOMShare = &share
	if share.Policy = ""; share.Doubtful <= 0 {
		return nil
	}
	var history workflow.History
	policies, err := f.policies(l.JobID, l.runnerID, &history)
	if err != nil {
		return fmt.Errorf("weigh kills for memory: %w", err)
	}
	share.Policy = policies.OOMPartial()
	return nil
}

// announceDoubt writes the event that names the jobs that are in doubt with this one.
func (f *finisher) announceDoubt(l *lease, e *ending) error {
	if e.evidence == nil || e.evidence.OOMShare == nil || e.evidence.OOMShare.Doubtful <= 0 {
		return nil
	}
	s := e.evidence.OOMShare
	return f.tx.event(f.run.workflowID, string(workflow.EventOOMDoubtful), workflow.SeverityWarning, workflow.OOMDoubtfulPayload{
		Category: workflow.CategoryMemory, JobID: l.JobID, JobName: l.name, RunID: f.run.runID, AttemptID: l.Attempt,
		Kills: s.Doubtful, Likely: s.Likely, Others: append([]string{}, s.Others...), OtherCount: s.OtherCount,
		Policy: cmp.Or(s.Policy, workflow.OOMFailLikely), Status: e.cause.Status, Cause: e.cause.Kind, Text: e.cause.Text,
	})
}
