package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// firstFailure raises an alert about the first job of the run that has failed and is not retried,
// if somebody wants it.
func (f *Finisher) firstFailure(l *core.LeasedJob, c workflow.Cause) error {
	if l.Status != workflow.Failed && l.Status != workflow.Terminated {
		return nil
	}
	policy, err := f.Run.Policy()
	if err != nil || len(policy.Notify.WithDefaults(f.tx.Shared.Notify).Targets(workflow.AlertFirstFailure)) == 0 {
		return err
	}
	var told bool
	err = f.tx.Row(`SELECT EXISTS (SELECT 1 FROM alert WHERE workflow_id = ? AND run_id = ? AND kind = ?)`,
		[]any{f.Run.WorkflowID, f.Run.RunID, string(workflow.AlertFirstFailure)}, &told)
	if err != nil {
		return fmt.Errorf("find an earlier failure in workflow %d: %w", f.Run.WorkflowID, err)
	}
	if told {
		return nil
	}
	return core.RaiseAlert(f.tx, f.Run, workflow.Alert{
		Kind: workflow.AlertFirstFailure, JobID: l.JobID, JobName: l.Name, Subject: fmt.Sprintf("job %s %s", l.Name, l.Status),
		Text: fmt.Sprintf("Attempt %d: %s\nNo alert is raised about further failures of this run.\nSee: torc-slurm why %d", l.Attempt, c.Summary(), l.JobID),
	})
}
