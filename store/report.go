package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Report says how an attempt ended.
type Report struct {
	LeaseRef
	StartedMS int64
	EndedMS   int64
	Evidence  workflow.Evidence
	FileTimes []FileTime // of output files that are there
}

// FileTime is a file's modification time in seconds since the epoch.
type FileTime struct {
	FileID  int64
	ModTime float64
}

// Outcome says what became of a report.
type Outcome string

// The outcomes.
const (
	Accepted  Outcome = "accepted"  // recorded now
	Duplicate Outcome = "duplicate" // was recorded before
	Late      Outcome = "late"      // an old fence: kept, without effect
	Refused   Outcome = "refused"   // cannot be recorded; Message says why
)

// ReportResult answers a report.
type ReportResult struct {
	LeaseRef
	Outcome Outcome
	Message string
	Status  workflow.JobStatus // of the job, afterwards
	// Recovery, if not nil, is a recovery script to run now under the same lease.
	Recovery   *Recovery
	ReturnCode int64
	Cause      workflow.CauseKind
	Reason     string // of the decision
}

// report records the end of an attempt of one of the reporting runner's
// leases, or of an earlier runner's that left its reports behind.
func (f *finisher) report(l *lease, rep *Report, host holder) (ReportResult, error) {
	if l == nil {
		var err error
		if l, err = f.foreign(rep.JobID); err != nil {
			return ReportResult{}, err
		}
		if l != nil && l.LeaseRef == rep.LeaseRef {
			if host, err = f.tx.holder(l.runnerID); err != nil {
				return ReportResult{}, err
			}
		}
	}
	switch {
	case l == nil:
		return ReportResult{LeaseRef: rep.LeaseRef, Outcome: Refused,
			Message: notFound("job", rep.JobID).Error()}, nil
	case l.LeaseRef == rep.LeaseRef && l.ended != nil:
		again := *l.ended
		again.Outcome = Duplicate
		return again, nil
	case l.LeaseRef != rep.LeaseRef || !l.status.IsLive() || l.recovering:
		return f.oldReport(rep, l)
	case rep.Evidence.NeverStarted:
		return ReportResult{LeaseRef: rep.LeaseRef, Outcome: Refused, Status: l.status,
			Message: "a job that was not started is given back, not reported"}, nil
	}
	codes, err := f.run.returnCodes()
	if err != nil {
		return ReportResult{}, err
	}
	e := ending{cause: workflow.Classify(rep.Evidence, codes, nil), evidence: &rep.Evidence, endMS: rep.EndedMS, host: host}
	if l.said = true; rep.StartedMS > 0 {
		l.startMS = sql.NullInt64{Int64: rep.StartedMS, Valid: true}
	}
	result, err := f.end(l, e)
	if err != nil {
		return result, err
	}
	return result, f.tx.fileTimes(l.JobID, rep.FileTimes)
}

// foreign returns a job of the run as a lease, whoever has it; nil if there is
// no such job.
func (f *finisher) foreign(job int64) (*lease, error) {
	if l := f.others[job]; l != nil {
		return l, nil
	}
	l, err := getOne(f.tx, "job", job, `SELECT `+leaseColumns+` FROM job WHERE id = ?`, scanLease)
	switch {
	case workflow.CodeOf(err) == workflow.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case l.workflowID != f.run.workflowID:
		return nil, nil
	}
	if f.others == nil {
		f.others = map[int64]*lease{}
	}
	f.others[job] = &l
	return &l, nil
}

// oldReport answers a report that is not about a live attempt: it was recorded
// before, or it is late.
func (f *finisher) oldReport(rep *Report, l *lease) (ReportResult, error) {
	result := ReportResult{LeaseRef: rep.LeaseRef, Outcome: Duplicate, Status: l.status}
	var fence, startMS, endMS int64
	err := f.tx.row(`SELECT fence, COALESCE(start_ms, 0), end_ms, return_code, cause, reason FROM attempt
		WHERE job_id = ? AND run_id = ? AND attempt_id = ?`, []any{rep.JobID, f.run.runID, rep.Attempt},
		&fence, &startMS, &endMS, &result.ReturnCode, &result.Cause, &result.Reason)
	switch {
	case err == nil && fence == rep.Fence && startMS == rep.StartedMS && endMS == rep.EndedMS:
		if l.recovering && l.LeaseRef == rep.LeaseRef {
			l.said = true
			result.Recovery, err = f.tx.recovery(l.JobID)
		}
		return result, err
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return result, fmt.Errorf("read attempt %d of job %d: %w", rep.Attempt, rep.JobID, err)
	}
	return f.late(rep, l)
}

// late keeps a report that has no effect.
func (f *finisher) late(rep *Report, l *lease) (ReportResult, error) {
	codes, err := f.run.returnCodes()
	if err != nil {
		return ReportResult{}, err
	}
	c := workflow.Classify(rep.Evidence, codes, nil)
	result := ReportResult{LeaseRef: rep.LeaseRef, Outcome: Late, Status: l.status, ReturnCode: c.ReturnCode, Cause: c.Kind,
		Message: fmt.Sprintf("the lease (attempt %d, fence %d) is over", rep.Attempt, rep.Fence)}
	var known bool
	err = f.tx.row(`SELECT EXISTS (SELECT 1 FROM late_report WHERE job_id = ? AND run_id = ? AND attempt_id = ? AND fence = ?)`,
		[]any{rep.JobID, f.run.runID, rep.Attempt, rep.Fence}, &known)
	if err != nil || known {
		return result, err
	}
	text, err := json.Marshal(rep)
	if err != nil {
		return result, fmt.Errorf("keep a late report of job %d: %w", rep.JobID, err)
	}
	_, err = f.tx.exec(`INSERT INTO late_report (workflow_id, job_id, run_id, attempt_id, fence, compute_node_id, received_ms, report)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, f.run.workflowID, rep.JobID, f.run.runID, rep.Attempt, rep.Fence, l.runnerID, f.tx.nowMS, string(text))
	if err != nil {
		return result, fmt.Errorf("keep a late report of job %d: %w", rep.JobID, err)
	}
	f.changed = true
	return result, f.tx.event(f.run.workflowID, string(workflow.EventReportLate), workflow.SeverityWarning, workflow.ReportLatePayload{
		JobID: rep.JobID, RunID: f.run.runID, AttemptID: rep.Attempt, Fence: rep.Fence,
		ReturnCode: c.ReturnCode, Cause: c.Kind, Text: c.Text,
	})
}

// fileTimes stores the modification times of a job's output files.
func (tx *Tx) fileTimes(job int64, times []FileTime) error {
	for _, t := range times {
		_, err := tx.exec(`UPDATE file SET st_mtime = ?1 WHERE id = ?2 AND st_mtime IS NOT ?1
			AND EXISTS (SELECT 1 FROM job_output_file WHERE job_id = ?3 AND file_id = ?2)`, t.ModTime, t.FileID, job)
		if err != nil {
			return fmt.Errorf("store the time of file %d of job %d: %w", t.FileID, job, err)
		}
	}
	return nil
}

// holder is the node on which an attempt ran.
type holder struct {
	id       *int64
	hostname string
}

// holder reads a node; the zero holder if there is none.
func (tx *Tx) holder(id sql.NullInt64) (holder, error) {
	if !id.Valid {
		return holder{}, nil
	}
	h := holder{id: &id.Int64}
	err := tx.row(`SELECT hostname FROM compute_node WHERE id = ?`, []any{id.Int64}, &h.hostname)
	return h, orNotFound(err, "compute_node", id.Int64)
}
