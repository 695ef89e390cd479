package engine

import (
	"database/sql"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Report records the end of an attempt under a lease of the reporting runner, or of an
// earlier runner that left its reports behind.
func (f *Finisher) Report(l *core.LeasedJob, rep *lease.Report, host Holder) (lease.ReportResult, error) {
	if l == nil {
		var err error
		if l, err = f.AnyLease(rep.JobID); err != nil {
			return lease.ReportResult{}, err
		}
		if l != nil && l.LeaseRef == rep.LeaseRef {
			if host, err = LoadHolder(f.tx, l.RunnerID); err != nil {
				return lease.ReportResult{}, err
			}
		}
	}
	switch {
	case l == nil:
		return refusedReport(rep), nil
	case l.LeaseRef == rep.LeaseRef && l.Ended != nil:
		again := *l.Ended
		again.Outcome = lease.Duplicate
		return again, nil
	case l.LeaseRef != rep.LeaseRef || !l.Status.IsLive() || l.Recovering:
		counts, err := f.supersede(l, rep)
		if err != nil {
			return lease.ReportResult{}, err
		}
		if !counts {
			return f.oldReport(rep, l, f.Run.RunID)
		}
		if host, err = LoadHolder(f.tx, l.RunnerID); err != nil {
			return lease.ReportResult{}, err
		}
	case rep.Evidence.NeverStarted:
		return lease.ReportResult{LeaseRef: rep.LeaseRef, Outcome: lease.Refused, Status: l.Status,
			Message: "a job that was not started is given back, not reported"}, nil
	}
	codes, err := f.Run.ReturnCodes()
	if err != nil {
		return lease.ReportResult{}, err
	}
	l.OrderedFor(&rep.Evidence)
	if err := weighOOM(f, l, rep); err != nil {
		return lease.ReportResult{}, err
	}
	e := Ending{Cause: failure.Classify(rep.Evidence, codes, nil), Evidence: &rep.Evidence, EndMS: rep.EndedMS, Host: host}
	if l.Said = true; rep.StartedMS > 0 {
		// A short job's start arrives together with its end. It has its own event all the
		// same.
		if l.Status == workflow.Pending {
			if err := announceStart(f.tx, f.Run, l); err != nil {
				return lease.ReportResult{}, err
			}
		}
		l.StartMS = sql.NullInt64{Int64: rep.StartedMS, Valid: true}
	}
	result, err := f.End(l, e)
	if err != nil {
		return result, err
	}
	if err := announceDoubt(f, l, &e); err != nil {
		return result, err
	}
	return result, fileTimes(f.tx, l.JobID, rep.FileTimes)
}

// AnyLease returns a job of the run as a lease, whoever holds it; nil if there is no such
// job.
func (f *Finisher) AnyLease(job int64) (*core.LeasedJob, error) {
	if l := f.others[job]; l != nil {
		return l, nil
	}
	l, err := core.GetOne(f.tx, "job", job, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
	switch {
	case workflow.CodeOf(err) == workflow.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case l.WorkflowID != f.Run.WorkflowID:
		return nil, nil
	}
	if f.others == nil {
		f.others = map[int64]*core.LeasedJob{}
	}
	f.others[job] = &l
	return &l, nil
}

// fileTimes stores the modification times of a job's output files.
func fileTimes(tx *core.Tx, job int64, times []lease.FileTime) error {
	for _, t := range times {
		_, err := tx.Exec(`UPDATE file SET st_mtime = ?1, size = NULL WHERE id = ?2 AND st_mtime IS NOT ?1
			AND EXISTS (SELECT 1 FROM job_output_file WHERE job_id = ?3 AND file_id = ?2)`, t.ModTime, t.FileID, job)
		if err != nil {
			return fmt.Errorf("store the time of file %d of job %d: %w", t.FileID, job, err)
		}
	}
	return nil
}

// Holder is the node on which an attempt ran.
type Holder struct {
	ID       *int64
	Hostname string
}

// LoadHolder reads a node; the zero holder if there is none.
func LoadHolder(tx *core.Tx, id sql.NullInt64) (Holder, error) {
	if !id.Valid {
		return Holder{}, nil
	}
	h := Holder{ID: &id.Int64}
	err := tx.Row(`SELECT hostname FROM compute_node WHERE id = ?`, []any{id.Int64}, &h.Hostname)
	return h, view.OrNotFound(err, "compute_node", id.Int64)
}
