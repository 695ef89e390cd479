package engine

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// The most verdicts that are remembered, in all and about failures that are alike.
const (
	mostRemembered      = 20_000
	mostRememberedAlike = 200
)

// Remember adds a job's verdict to what is remembered of failures like its own, and returns
// the id of the row. Jobs that are decided alike, one right after the other, share a row. A
// verdict without a failure is not remembered: the id is 0.
func Remember(tx *core.Tx, v *hold.EarlierVerdict, expiresMS int64) (id int64, err error) {
	if v.Fingerprint == "" || v.Cause == "" {
		return 0, nil
	}
	same := `workflow_id = ?2 AND run_id = ?3 AND state = ?4 AND action = ?5 AND author = ?6 AND door = ?7 AND reason = ?8 AND confidence = ?9
		AND memory = ?10 AND runtime = ?11 AND num_cpus = ?12 AND proposal_id = ?13 AND expires_ms = ?14`
	args := []any{v.Fingerprint, v.WorkflowID, v.RunID, string(v.State), string(v.Action), v.Author, v.Door, v.Reason, string(v.Confidence), v.Memory, v.Runtime, v.NumCPUs,
		v.ProposalID, expiresMS}
	err = tx.Row(`UPDATE verdict_memory SET jobs = jobs + 1, at_ms = ?15 WHERE id = (SELECT MAX(id) FROM verdict_memory WHERE fingerprint = ?1) AND `+same+` RETURNING id`,
		append(args, v.AtMS), &id)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return id, sqlite.Wrap(err, "remember the verdict about job %d", v.JobID)
	}
	failure, err := json.Marshal(v.AlikeFailure)
	if err != nil {
		return 0, fmt.Errorf("write how job %d failed: %w", v.JobID, err)
	}
	id, err = tx.Insert(`INSERT INTO verdict_memory (fingerprint, workflow_id, run_id, state, action, author, door, reason, confidence, memory, runtime, num_cpus,
			proposal_id, expires_ms, at_ms, workflow_name, job_id, job_name, failure, jobs)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, COALESCE((SELECT name FROM workflow WHERE id = ?2), ''), ?16, ?17, ?18, 1)`,
		append(args, v.AtMS, v.JobID, v.JobName, string(failure))...)
	if err != nil {
		return 0, fmt.Errorf("remember the verdict about job %d: %w", v.JobID, err)
	}
	_, err = tx.Exec(`DELETE FROM verdict_memory WHERE id <= ?2 OR fingerprint = ?1 AND id <= (SELECT id FROM verdict_memory WHERE fingerprint = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?3)`,
		v.Fingerprint, id-mostRemembered, mostRememberedAlike)
	return id, sqlite.Wrap(err, "forget old verdicts")
}

// rememberVerdict remembers the verdict that ends a hold.
func rememberVerdict(tx *core.Tx, r *view.Run, l *core.LeasedJob, w hold.Classification, failure hold.AlikeFailure) (int64, error) {
	v := hold.EarlierVerdict{
		AlikeFailure: failure, WorkflowID: r.WorkflowID, RunID: r.RunID, JobID: l.JobID, JobName: l.Name, AtMS: tx.NowMS, State: hold.Decided,
		Action: workflow.ActionRetry, Author: w.Author, Door: string(tx.Door), Reason: w.Reason, Confidence: w.Confidence,
		Memory: w.Memory, Runtime: w.Runtime, NumCPUs: w.NumCPUs, ProposalID: w.ProposalID,
	}
	if w.Status == workflow.Failed {
		v.Action = workflow.ActionFail
	}
	return Remember(tx, &v, 0)
}

// noteOutcome records what became of a job that a verdict has retried. It costs nothing for
// jobs in their first attempt.
func (f *Finisher) noteOutcome(l *core.LeasedJob) error {
	var outcome string
	switch {
	case l.Attempt < 2: // no verdict has retried it
		return nil
	case l.Status == workflow.Completed:
		outcome = "succeeded"
	case l.Status == workflow.Canceled:
		outcome = "canceled"
	case l.Status.IsUnsuccessful() || l.Status == workflow.PendingFailed:
		outcome = "failed"
	default:
		return nil
	}
	var id, memory, after int64
	err := f.tx.Row(`SELECT id, memory_id, attempt_id FROM classification
		WHERE job_id = ? AND run_id = ? AND status = {ready} AND outcome = '' AND attempt_id < ? ORDER BY id DESC LIMIT 1`,
		[]any{l.JobID, f.Run.RunID, l.Attempt}, &id, &memory, &after)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("find the verdict about job %d: %w", l.JobID, err)
	}
	if err := f.tx.ExecOne(`UPDATE classification SET outcome = ? WHERE id = ?`, outcome, id); err != nil {
		return fmt.Errorf("record what became of job %d: %w", l.JobID, err)
	}
	attempts := int64(0)
	if outcome == "succeeded" {
		attempts = l.Attempt - after
	}
	_, err = f.tx.Exec(`UPDATE verdict_memory SET `+outcome+` = `+outcome+` + 1, most_attempts = max(most_attempts, ?2) WHERE id = ?1`, memory, attempts) // it may be forgotten
	return sqlite.Wrap(err, "remember what became of job %d", l.JobID)
}
