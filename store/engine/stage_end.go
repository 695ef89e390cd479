package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// finishStage writes the verdict of a child stage, which determines how its sub-workflow
// job ends.
func (c *convergence) finishStage(s, end *row.Stage) error {
	tx := c.tx
	s.RunID = c.run.RunID // a new run may have started since
	if err := closeEnd(tx, end, s.RunID); err != nil {
		return err
	}
	if err := c.cascade.announce(); err != nil {
		return err
	}
	v, err := row.StageVerdict(tx.Each, &s.Stage, c.run.RunID)
	if err != nil {
		return err
	}
	l, err := core.GetOne(tx, "job", *s.JobID, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	if err != nil {
		return err
	}
	v.JobID, v.JobName = l.JobID, l.Name
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	err = tx.ExecOne(`UPDATE stage SET state = 'ended', run_id = ?, ended_ms = ?, verdict = ? WHERE id = ? AND state = 'running'`,
		s.RunID, tx.NowMS, string(text), s.ID)
	if err != nil {
		return fmt.Errorf("end stage %d: %w", s.ID, err)
	}
	severity := event.SeverityInfo
	if !v.Succeeded() {
		severity = event.SeverityError
	}
	if err := tx.Event(c.run.WorkflowID, v.EventType, severity, v); err != nil {
		return err
	}
	return c.endStageJob(&l, v.Cause())
}

// endStageJob ends a sub-workflow job with the result of its stage.
func (c *convergence) endStageJob(l *core.LeasedJob, cause workflow.Cause) error {
	f := NewFinisher(c.tx, c.run)
	d := workflow.Decision{Action: workflow.ActionNone, Reason: "its sub-workflow was successful"}
	if cause.Status.IsUnsuccessful() {
		d = workflow.Decision{Action: workflow.ActionFail, Reason: "its sub-workflow was not successful"}
	}
	if err := f.Record(l, &Ending{Cause: cause, EndMS: c.tx.NowMS, NoResult: true}, &d); err != nil {
		return err
	}
	if err := f.attempts.Flush(); err != nil {
		return fmt.Errorf("record attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	done, err := ApplyChanges(c.tx, c.run, []Change{{Job: l.JobID, Op: workflow.OpStage, From: l.Status, To: cause.Status}})
	if err != nil {
		return err
	}
	l.Status = cause.Status
	if err := f.endsSiblings(l, &Ending{Cause: cause}); err != nil {
		return err
	}
	if err := f.AnnounceStatus(l, cause, d.Reason); err != nil {
		return err
	}
	if err := f.endSiblings(); err != nil {
		return err
	}
	return c.cascade.begin(done)
}
