package store

import (
	"database/sql"
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
	Category   string // of the failure; empty if none matches
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
		return refusedReport(rep), nil
	case l.LeaseRef == rep.LeaseRef && l.ended != nil:
		again := *l.ended
		again.Outcome = Duplicate
		return again, nil
	case l.LeaseRef != rep.LeaseRef || !l.status.IsLive() || l.recovering:
		counts, err := f.supersede(l, rep)
		if err != nil {
			return ReportResult{}, err
		}
		if !counts {
			return f.oldReport(rep, l, f.run.runID)
		}
		if host, err = f.tx.holder(l.runnerID); err != nil {
			return ReportResult{}, err
		}
	case rep.Evidence.NeverStarted:
		return ReportResult{LeaseRef: rep.LeaseRef, Outcome: Refused, Status: l.status,
			Message: "a job that was not started is given back, not reported"}, nil
	}
	codes, err := f.run.returnCodes()
	if err != nil {
		return ReportResult{}, err
	}
	l.orderedFor(&rep.Evidence)
	if err := f.weighOOM(l, rep); err != nil {
		return ReportResult{}, err
	}
	e := ending{cause: workflow.Classify(rep.Evidence, codes, nil), evidence: &rep.Evidence, endMS: rep.EndedMS, host: host}
	if l.said = true; rep.StartedMS > 0 {
		// The start of a short job comes with its end. It has its event all the same,
		// stored like every other: what that costs is less than was saved by writing
		// the payloads without reflection.
		if l.status == workflow.Pending {
			if err := f.tx.announceStart(f.run, l); err != nil {
				return ReportResult{}, err
			}
		}
		l.startMS = sql.NullInt64{Int64: rep.StartedMS, Valid: true}
	}
	result, err := f.end(l, e)
	if err != nil {
		return result, err
	}
	if err := f.announceDoubt(l, &e); err != nil {
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
