package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// causeCounts adds the numbers of attempts of a run, by cause.
func causeCounts(tx *core.Tx, r *view.Run, c *stage.Counts) error {
	if err := tx.FlushCauses(); err != nil {
		return err
	}
	c.ByCause = map[workflow.CauseKind]int64{}
	err := tx.Each(`SELECT cause, n, retried FROM cause_count WHERE workflow_id = ? AND run_id = ?`, func(row sqlite.Scanner) error {
		var cause workflow.CauseKind
		var n, retried int64
		err := row.Scan(&cause, &n, &retried)
		c.ByCause[cause] = n
		c.Retried += retried
		return err
	}, r.WorkflowID, r.RunID)
	return sqlite.Wrap(err, "count the attempts of workflow %d", r.WorkflowID)
}

// EndIfOver writes the verdict of a run that has ended: no job is open, or it was canceled
// and no attempt is live.
func EndIfOver(tx *core.Tx, workflowID int64) error {
	r, err := core.LoadRun(tx, workflowID)
	if err != nil || r.Ended {
		return err
	}
	if err := ConvergeStages(tx, r); err != nil {
		return err
	}
	return endRun(tx, r)
}

// isOver reports whether a run has no open job outside of compensations or, if it is
// canceled, no live job.
func isOver(tx *core.Tx, r *view.Run) (bool, error) {
	counts, err := core.StatusCounts(tx, r.WorkflowID)
	if err != nil {
		return false, err
	}
	if counts.WorkflowCanceled = r.Canceled; r.Canceled || !r.Stages {
		return counts.Ended(), nil
	}
	_, compensations, err := countOutside(tx, r.WorkflowID)
	return counts.Open() == compensations, err
}

// endRun writes the verdict of a run that is over, judged by the main stage.
func endRun(tx *core.Tx, r *view.Run) error {
	if r.Ended || tx.GivingUp == r.WorkflowID {
		return nil
	}
	if over, err := isOver(tx, r); err != nil || !over {
		return err
	}
	v, err := mainVerdict(tx, r)
	if err != nil {
		return err
	}
	return writeVerdict(tx, r, v)
}

// mainVerdict returns the verdict on the jobs of the main stage as they are now.
func mainVerdict(tx *core.Tx, r *view.Run) (v stage.Verdict, err error) {
	counts, err := core.StatusCounts(tx, r.WorkflowID)
	if err != nil {
		return v, err
	}
	counts.WorkflowCanceled, counts.GivenUp = r.Canceled, r.GivenUp
	if err := causeCounts(tx, r, &counts); err != nil {
		return v, err
	}
	if r.Stages {
		if err := row.StagedCounts(tx.Each, r.WorkflowID, r.RunID, &counts); err != nil {
			return v, err
		}
		if counts.EndJob, err = row.EndJobResult(tx.Each, r.WorkflowID, nil); err != nil {
			return v, err
		}
	}
	p, err := r.Policy()
	if err != nil {
		return v, err
	}
	success, err := p.Criterion()
	if err != nil {
		return v, fmt.Errorf("read the success condition of workflow %d: %w", r.WorkflowID, err)
	}
	if err := row.PatternCounts(tx.Each, row.PatternScope{WorkflowID: r.WorkflowID}, success, &counts); err != nil {
		return v, err
	}
	if len(p.FailureCategories) > 0 {
		if counts.ByCategory, err = view.CategoryCounts(tx.Each, r.WorkflowID, r.RunID); err != nil {
			return stage.Verdict{}, err
		}
	}
	return stage.EndVerdict(counts, success), nil
}

// writeVerdict ends a run.
func writeVerdict(tx *core.Tx, r *view.Run, v stage.Verdict) error {
	v.Payload.WorkflowID, v.Payload.RunID, v.Payload.EndGeneration = r.WorkflowID, r.RunID, r.Generation
	payload, err := json.Marshal(v.Payload)
	if err != nil {
		return fmt.Errorf("end workflow %d: %w", r.WorkflowID, err)
	}
	_, err = tx.Exec(`INSERT INTO verdict (workflow_id, run_id, generation, type, payload, at_ms) VALUES (?, ?, ?, ?, ?, ?)`,
		r.WorkflowID, r.RunID, r.Generation, string(v.EventType), string(payload), tx.NowMS)
	if err != nil {
		return fmt.Errorf("end workflow %d, run %d: %w", r.WorkflowID, r.RunID, err)
	}
	if err := tx.ExecOne(`UPDATE workflow SET has_ended = 1 WHERE id = ? AND has_ended = 0`, r.WorkflowID); err != nil {
		return fmt.Errorf("end workflow %d, run %d: %w", r.WorkflowID, r.RunID, err)
	}
	r.Ended = true
	tx.Changes.Ended = core.AppendNew(tx.Changes.Ended, []int64{r.WorkflowID})
	if err := tx.Event(r.WorkflowID, string(v.EventType), v.Severity, v.Payload); err != nil {
		return err
	}
	if err := beginCompensation(tx, r, v.EventType); err != nil {
		return err
	}
	if v.EventType == workflow.EventWorkflowCanceled {
		return nil
	}
	alert := v.Payload.CompletedAlert()
	if v.EventType == workflow.EventWorkflowFailed {
		alert = v.Payload.Alert()
	}
	if err := core.RaiseAlert(tx, r, alert); err != nil {
		return err
	}
	return triggerEnd(tx, r.WorkflowID)
}

// clearVerdict continues an ended run, in a new generation.
func clearVerdict(tx *core.Tx, r *view.Run, reason string) error {
	if !r.Ended {
		return nil
	}
	if err := r.RefuseWhileCompensating(); err != nil {
		return err
	}
	err := tx.ExecOne(`UPDATE workflow SET has_ended = 0, end_generation = end_generation + 1, given_up = NULL WHERE id = ? AND has_ended = 1`, r.WorkflowID)
	if err != nil {
		return fmt.Errorf("reopen workflow %d: %w", r.WorkflowID, err)
	}
	if _, err := ReleaseRunEnd(tx, r.WorkflowID); err != nil {
		return err
	}
	r.Ended, r.GivenUp = false, ""
	r.Generation++
	return tx.Event(r.WorkflowID, string(workflow.EventWorkflowReopened), event.SeverityInfo, event.WorkflowReopenedPayload{
		Category: event.CategoryWorkflow, WorkflowID: r.WorkflowID, RunID: r.RunID, EndGeneration: r.Generation, Reason: reason,
	})
}
