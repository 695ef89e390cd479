package engine

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// oldReport answers a report that is not about a live attempt: it was recorded before,
// belongs to a voided lease, or is late. The job does not change.
func (f *Finisher) oldReport(rep *lease.Report, l *core.LeasedJob, runID int64) (lease.ReportResult, error) {
	result := lease.ReportResult{LeaseRef: rep.LeaseRef, Outcome: lease.Duplicate, Status: l.Status}
	var run, startMS, endMS int64
	var untold bool
	// The fence identifies the attempt; the runner may belong to a later run.
	err := f.tx.Row(`SELECT run_id, COALESCE(start_ms, 0), end_ms, return_code, cause, reason, evidence IS NULL FROM attempt
		WHERE job_id = ? AND attempt_id = ? AND fence = ? ORDER BY run_id LIMIT 1`, []any{rep.JobID, rep.Attempt, rep.Fence},
		&run, &startMS, &endMS, &result.ReturnCode, &result.Cause, &result.Reason, &untold)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return f.late(rep, l, runID)
	case err != nil:
		return result, fmt.Errorf("read attempt %d of job %d: %w", rep.Attempt, rep.JobID, err)
	case startMS == rep.StartedMS && endMS == rep.EndedMS:
		if l.Recovering && l.LeaseRef == rep.LeaseRef && runID == f.Run.RunID {
			l.Said = true
			order, err := loadRecovery(f.tx, l.JobID)
			result.Recovery = order.toRunner()
			return result, err
		}
		return result, err
	case untold && result.Cause == workflow.CauseCanceledUser:
		return f.complement(rep, run, result)
	}
	return f.late(rep, l, runID)
}

// complement adds how the process ended to an attempt whose lease was voided. The attempt
// stays canceled.
func (f *Finisher) complement(rep *lease.Report, runID int64, result lease.ReportResult) (lease.ReportResult, error) {
	text, err := json.Marshal(rep.Evidence)
	if err != nil {
		return result, fmt.Errorf("write the evidence of job %d: %w", rep.JobID, err)
	}
	e := &rep.Evidence
	c := failure.ClassifyCanceled(result.Reason, *e)
	result.Outcome, result.ReturnCode = lease.Accepted, c.ReturnCode
	err = f.tx.ExecOne(`UPDATE attempt SET start_ms = NULLIF(?, 0), end_ms = ?, return_code = ?, cause_text = ?, evidence = ?,
			peak_memory_bytes = ?, avg_memory_bytes = ?, peak_cpu_percent = ?, avg_cpu_percent = ?, cpu_seconds = ?
		WHERE job_id = ? AND run_id = ? AND attempt_id = ? AND evidence IS NULL`,
		rep.StartedMS, rep.EndedMS, c.ReturnCode, c.Text, string(text),
		orNull(e.PeakMemoryBytes), orNull(e.AvgMemoryBytes), orNull(e.PeakCPUPercent), orNull(e.AvgCPUPercent), orNull(e.CPUSeconds),
		rep.JobID, runID, rep.Attempt)
	if err != nil {
		return result, fmt.Errorf("write the end of the canceled attempt %d of job %d: %w", rep.Attempt, rep.JobID, err)
	}
	f.Changed = true
	return result, nil
}

// late stores a report that has no effect. It writes an event unless we told the runner to
// end that process.
func (f *Finisher) late(rep *lease.Report, l *core.LeasedJob, runID int64) (lease.ReportResult, error) {
	codes, err := f.Run.ReturnCodes()
	if err != nil {
		return lease.ReportResult{}, err
	}
	c := failure.Classify(rep.Evidence, codes, nil)
	result := lease.ReportResult{LeaseRef: rep.LeaseRef, Outcome: lease.Late, Status: l.Status, ReturnCode: c.ReturnCode, Cause: c.Kind,
		Message: fmt.Sprintf("the lease (attempt %d, fence %d) is over", rep.Attempt, rep.Fence)}
	var known bool
	err = f.tx.Row(`SELECT EXISTS (SELECT 1 FROM late_report WHERE job_id = ? AND attempt_id = ? AND fence = ?)`,
		[]any{rep.JobID, rep.Attempt, rep.Fence}, &known)
	if err != nil || known {
		return result, err
	}
	text, err := json.Marshal(struct { // these names are part of the file format
		JobID, Attempt, Fence, StartedMS, EndedMS int64
		Evidence                                  *workflow.Evidence
		FileTimes                                 []lease.FileTime
	}{rep.JobID, rep.Attempt, rep.Fence, rep.StartedMS, rep.EndedMS, &rep.Evidence, rep.FileTimes})
	if err != nil {
		return result, fmt.Errorf("keep a late report of job %d: %w", rep.JobID, err)
	}
	_, err = f.tx.Exec(`INSERT INTO late_report (workflow_id, job_id, run_id, attempt_id, fence, compute_node_id, received_ms, report)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, f.Run.WorkflowID, rep.JobID, runID, rep.Attempt, rep.Fence, l.RunnerID, f.tx.NowMS, string(text))
	if err != nil {
		return result, fmt.Errorf("keep a late report of job %d: %w", rep.JobID, err)
	}
	f.Changed = true
	if err := f.settled(rep, runID); err != nil {
		return result, err
	}
	if k := rep.Evidence.KilledBy; k == workflow.KilledByCancel || k == workflow.KilledBySibling || k == workflow.KilledByFence {
		return result, nil
	}
	return result, f.tx.Event(f.Run.WorkflowID, string(workflow.EventReportLate), event.SeverityWarning, event.ReportLatePayload{
		JobID: rep.JobID, RunID: runID, AttemptID: rep.Attempt, Fence: rep.Fence,
		ReturnCode: c.ReturnCode, Cause: c.Kind, Text: c.Text,
	})
}

// settled ends the delay of a retry that only waited because the previous attempt, which is
// reported now, might still have been running.
func (f *Finisher) settled(rep *lease.Report, runID int64) error {
	if runID != f.Run.RunID {
		return nil
	}
	p := event.JobSettledPayload{JobID: rep.JobID, RunID: runID, AttemptID: rep.Attempt}
	err := f.tx.Row(`UPDATE job SET not_before_ms = settled_ms, settled_ms = NULL
		WHERE id = ? AND attempt_id = ? AND status = {ready} AND settled_ms IS NOT NULL RETURNING name, not_before_ms`,
		[]any{rep.JobID, rep.Attempt + 1}, &p.JobName, &p.NotBeforeMS)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("stop job %d from waiting for its attempt %d: %w", rep.JobID, rep.Attempt, err)
	}
	f.tx.Ready(f.Run.WorkflowID)
	if p.NotBeforeMS > 0 {
		f.tx.Delayed(p.NotBeforeMS)
	}
	return f.tx.Event(f.Run.WorkflowID, string(workflow.EventJobSettled), event.SeverityInfo, p)
}

// PastReport handles a report from an earlier run. The job may be running again in the
// current run, under the same lease.
func (f *Finisher) PastReport(rep *lease.Report, runID int64) (lease.ReportResult, error) {
	l, err := f.AnyLease(rep.JobID)
	if err != nil || l == nil {
		return refusedReport(rep), err
	}
	return f.oldReport(rep, l, runID)
}

// refusedReport answers a report of a job that does not exist.
func refusedReport(rep *lease.Report) lease.ReportResult {
	return lease.ReportResult{LeaseRef: rep.LeaseRef, Outcome: lease.Refused, Message: view.NotFound("job", rep.JobID).Error()}
}
