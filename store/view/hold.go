package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// List returns the jobs of a workflow that wait for a classification, by id; of all
// workflows if the id is 0.
func (s Holds) List(ctx context.Context, workflowID int64) ([]hold.HeldJob, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	if workflowID != 0 {
		var one int
		err := tx.QueryRowContext(ctx, `SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, workflowID).Scan(&one)
		if err := OrNotFound(err, "workflow", workflowID); err != nil {
			return nil, err
		}
	}
	return HeldJobs(func(query string, args ...any) (*sql.Rows, error) { return tx.QueryContext(ctx, query, args...) }, workflowID)
}

// HeldJobs reads held jobs in any kind of transaction.
func HeldJobs(ask func(query string, args ...any) (*sql.Rows, error), workflowID int64) ([]hold.HeldJob, error) {
	// The IN makes the partial index usable; the + makes SQLite use it.
	query := `SELECT j.id, j.workflow_id, j.name, j.hold, a.cause, a.confidence, a.return_code, a.cause_text, a.evidence,
			j.attempt_id, COALESCE(json_extract(j.rule_counts, '$.'||?||'.counted'), 0)
		FROM job j JOIN workflow w ON w.id = j.workflow_id
			LEFT JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id AND a.attempt_id = j.attempt_id
		WHERE j.status IN ({failed}, {canceled}, {terminated}, {pending_failed}) AND j.status = {pending_failed} AND w.is_hidden = 0`
	args := []any{workflow.RuleClassified}
	if workflowID != 0 {
		query, args = query+` AND j.workflow_id = ?`, append(args, workflowID)
	}
	rows, err := ask(query+` ORDER BY +j.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read held jobs: %w", err)
	}
	held, err := sqlite.Collect(rows, scanHeld)
	return held, sqlite.Wrap(err, "read held jobs")
}

func scanHeld(r sqlite.Scanner) (hold.HeldJob, error) {
	var id, workflowID int64
	var name string
	var why, kind, confidence, text, evidence sql.NullString
	var code sql.NullInt64
	var attempt, classified int64
	if err := r.Scan(&id, &workflowID, &name, &why, &kind, &confidence, &code, &text, &evidence, &attempt, &classified); err != nil {
		return hold.HeldJob{}, err
	}
	var h workflow.Hold
	if why.Valid {
		if err := json.Unmarshal([]byte(why.String), &h); err != nil {
			return hold.HeldJob{}, fmt.Errorf("read the hold of job %d: %w", id, err)
		}
	}
	var e workflow.Evidence
	if evidence.Valid {
		if err := json.Unmarshal([]byte(evidence.String), &e); err != nil {
			return hold.HeldJob{}, fmt.Errorf("read the evidence of job %d: %w", id, err)
		}
	}
	c := workflow.Cause{
		Kind: workflow.CauseKind(kind.String), Confidence: workflow.Confidence(confidence.String), ReturnCode: code.Int64, Text: text.String,
	}
	j := hold.NewHeldJob(id, workflowID, name, h, c, e)
	j.Attempt, j.RetriesLeft = attempt, max(0, workflow.ClassifiedRetryLimit-classified)
	return j, nil
}

// VerdictFilter selects remembered verdicts; zero values match all.
type VerdictFilter struct {
	Fingerprint string
	WorkflowID  int64
}

const verdictColumns = `id, workflow_id, workflow_name, run_id, job_id, job_name, at_ms, state, action, author, door, reason, confidence, memory, runtime,
	num_cpus, proposal_id, expires_ms, decided_by, note, failure, jobs, succeeded, failed, canceled, most_attempts`

// Verdicts returns a page of the verdicts that are remembered, the oldest first, and how many
// there are in all.
func (s Holds) Verdicts(ctx context.Context, q VerdictFilter, page sqlite.Page) ([]hold.EarlierVerdict, int64, error) {
	f := sqlite.Where(`1`)
	if q.Fingerprint != "" {
		f.Add(`fingerprint = ?`, q.Fingerprint)
	}
	if q.WorkflowID != 0 {
		f.Add(`workflow_id = ?`, q.WorkflowID)
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: verdictColumns, From: "verdict_memory", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{"at_ms": "at_ms", "fingerprint": "fingerprint"},
	}, s.scanVerdict)
}

// Earlier returns the latest verdicts about jobs that failed alike, the latest first, and
// what became of all such jobs; nil if there were none.
func (s Holds) Earlier(ctx context.Context, fingerprint string, limit int) ([]hold.EarlierVerdict, *hold.Experience, error) {
	list, err := sqlite.SelectContext(ctx, s.DB.Read, s.scanVerdict, `SELECT `+verdictColumns+` FROM verdict_memory
		WHERE fingerprint = ? ORDER BY id DESC`, fingerprint)
	if err != nil || len(list) == 0 {
		return nil, nil, sqlite.Wrap(err, "read the verdicts about jobs that failed like %s", fingerprint)
	}
	all := &hold.Experience{}
	for i := range list {
		all.Add(&list[i])
	}
	return list[:min(len(list), limit)], all, nil
}

// scanVerdict reads a row of verdictColumns.
func (s Holds) scanVerdict(r sqlite.Scanner) (v hold.EarlierVerdict, err error) {
	var expiresMS int64
	var failure string
	err = r.Scan(&v.ID, &v.WorkflowID, &v.WorkflowName, &v.RunID, &v.JobID, &v.JobName, &v.AtMS, &v.State, &v.Action, &v.Author, &v.Door, &v.Reason, &v.Confidence,
		&v.Memory, &v.Runtime, &v.NumCPUs, &v.ProposalID, &expiresMS, &v.DecidedBy, &v.Note, &failure, &v.Jobs, &v.Succeeded, &v.Failed, &v.Canceled, &v.MostAttempts)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(failure), &v.AlikeFailure); err != nil {
		return v, fmt.Errorf("read the failure of verdict %d: %w", v.ID, err)
	}
	if v.State == hold.Proposed && expiresMS <= s.DB.Now().UnixMilli() {
		v.State = hold.Expired
	}
	v.Outcome = v.OutcomeText()
	return v, nil
}

// CountUserHeld counts the jobs of workflow ?1 that users hold and that are not complete.
const CountUserHeld = `SELECT COUNT(*)` + userHeldJobs

const userHeldJobs = ` FROM claim_class c JOIN job j ON j.class_id = c.id AND j.status IN ({uninitialized}, {blocked}, {ready})
	WHERE c.workflow_id = ?1 AND c.held = 1`

// userHeld counts the jobs that users hold and that are not complete, and returns the names
// of the first few.
func (l *factReader) userHeld(workflowID int64) (n int64, names []string, err error) {
	if err := l.row(CountUserHeld, []any{workflowID}, &n); err != nil || n == 0 {
		return 0, nil, err
	}
	names, err = selectFacts(l, `SELECT j.name`+userHeldJobs+` ORDER BY j.id LIMIT ?2`, []any{workflowID, Few}, sqlite.ScanString)
	return n, names, err
}
