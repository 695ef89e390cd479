package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

const callColumns = `id, workflow_id, run_id, agent, started_ms, ended_ms, outcome, detail, asked`

// SelectCall selects what ScanCall reads.
const SelectCall = `SELECT ` + callColumns + ` FROM classifier_call WHERE id = ?`

// ScanCall reads a call of an agent.
func ScanCall(r sqlite.Scanner) (c classifier.Call, err error) {
	var asked string
	if err := r.Scan(&c.ID, &c.WorkflowID, &c.RunID, &c.Agent, &c.StartedMS, &c.EndedMS, &c.Outcome, &c.Detail, &asked); err != nil {
		return c, err
	}
	if err := json.Unmarshal([]byte(asked), &c.Asked); err != nil {
		return c, fmt.Errorf("read call %d of an agent: %w", c.ID, err)
	}
	return c, nil
}

// Calls returns the calls of agents for the current run of a workflow, the oldest first.
func (s Classifiers) Calls(ctx context.Context, workflowID int64) ([]classifier.Call, error) {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return nil, err
	}
	list, err := sqlite.SelectContext(ctx, s.DB.Read, ScanCall, callsOfRun, workflowID)
	return list, sqlite.Wrap(err, "list the calls of agents for workflow %d", workflowID)
}

const callsOfRun = `SELECT ` + callColumns + ` FROM classifier_call c WHERE workflow_id = ?1
	AND run_id = (SELECT run_id FROM workflow WHERE id = ?1) ORDER BY id`

// Waiting returns the ids of workflows with a classifier and held jobs.
func (s Classifiers) Waiting(ctx context.Context) ([]int64, error) {
	list, err := sqlite.SelectContext(ctx, s.DB.Read, ScanID, `SELECT w.id FROM workflow w
		WHERE w.is_hidden = 0 AND w.is_canceled = 0 AND json_extract(w.policy, '$.classifier') IS NOT NULL
			AND EXISTS (SELECT 1 FROM job j WHERE j.workflow_id = w.id AND j.status IN ({failed}, {canceled}, {terminated}, {pending_failed}) AND j.status = {pending_failed})
		ORDER BY w.id`)
	return list, sqlite.Wrap(err, "list workflows whose held jobs an agent is asked about")
}

// Decide returns whether an agent is asked about held jobs of a workflow now.
func (s Classifiers) Decide(ctx context.Context, workflowID int64) (classifier.Decision, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return classifier.Decision{}, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	run, err := ReadRun(func(query string, args []any, dest ...any) error {
		return tx.QueryRowContext(ctx, query, args...).Scan(dest...)
	}, workflowID)
	if err != nil {
		return classifier.Decision{}, err
	}
	f, err := ClassifierFacts(func(query string, args ...any) (*sql.Rows, error) { return tx.QueryContext(ctx, query, args...) }, run, s.DB.Now().UnixMilli())
	if err != nil {
		return classifier.Decision{}, err
	}
	return classifier.Decide(f), nil
}

// OutputDir returns the output directory of a workflow; empty if none is known.
func (s Classifiers) OutputDir(ctx context.Context, workflowID int64) (string, error) {
	var dir sql.NullString
	err := s.DB.Read.QueryRowContext(ctx, outputDirOf, workflowID).Scan(&dir)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return dir.String, sqlite.Wrap(err, "find the output directory of workflow %d", workflowID)
}

// ClassifierFacts reads in any kind of transaction what a decision about a call depends on.
func ClassifierFacts(ask func(query string, args ...any) (*sql.Rows, error), r *Run, nowMS int64) (*classifier.Facts, error) {
	policy, err := r.Policy()
	if err != nil {
		return nil, err
	}
	f := &classifier.Facts{NowMS: nowMS, Policy: policy.Classifier, Canceled: r.Canceled, Proposed: map[int64]bool{}}
	if f.Policy == nil {
		return f, nil
	}
	if f.Held, err = HeldJobs(ask, r.WorkflowID); err != nil {
		return nil, err
	}
	rows, err := ask(callsOfRun, r.WorkflowID)
	if err != nil {
		return nil, fmt.Errorf("read the calls of agents: %w", err)
	}
	if f.Calls, err = sqlite.Collect(rows, ScanCall); err != nil {
		return nil, fmt.Errorf("read the calls of agents: %w", err)
	}
	count, err := collectIDs(ask, `SELECT COUNT(*) FROM classifier_call WHERE workflow_id = ? AND started_ms > ?`, r.WorkflowID, nowMS-(24*time.Hour).Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("count the calls of agents: %w", err)
	}
	f.LastDay = count[0]
	proposed, err := collectIDs(ask, `SELECT json_extract(e.value, '$.job_id') FROM proposal p, json_each(p.jobs) e
		WHERE p.workflow_id = ? AND p.state = ? AND p.expires_ms > ? AND p.kind IN (?, ?)`,
		r.WorkflowID, string(proposal.Open), nowMS, string(proposal.Classify), string(proposal.Question))
	if err != nil {
		return nil, fmt.Errorf("read the open proposals of workflow %d: %w", r.WorkflowID, err)
	}
	for _, id := range proposed {
		f.Proposed[id] = true
	}
	return f, nil
}

func collectIDs(ask func(query string, args ...any) (*sql.Rows, error), query string, args ...any) ([]int64, error) {
	rows, err := ask(query, args...)
	if err != nil {
		return nil, err
	}
	return sqlite.Collect(rows, ScanID)
}

// CallOfKey returns the call that goes on with a key; CodeConflict if there is none.
func CallOfKey(row func(query string, args []any, dest ...any) error, key string) (id, workflowID int64, agent string, err error) {
	err = row(`SELECT COALESCE(MAX(id), 0), COALESCE(MAX(workflow_id), 0), COALESCE(MAX(agent), '') FROM classifier_call WHERE key = ? AND ended_ms = 0`,
		[]any{key}, &id, &workflowID, &agent)
	if err == nil && id == 0 {
		err = workflow.Errorf(workflow.CodeConflict, "the call of the agent has ended; nothing can be proposed in its name").
			WithHint("start torc-slurm mcp without --call to propose something as a user")
	}
	return id, workflowID, agent, err
}

// agentFacts returns the calls of agents for a run, and whether another is due; with a job only
// those about failures of this job.
func agentFacts(l *factReader, workflowID int64, job *workflow.Job) (f explain.AgentFacts, err error) {
	if f.Calls, err = selectFacts(l, callsOfRun, []any{workflowID}, ScanCall); err != nil {
		return f, fmt.Errorf("read the calls of agents: %w", err)
	}
	if job != nil && len(f.Calls) > 0 {
		of, err := selectFacts(l, `SELECT fingerprint FROM attempt WHERE job_id = ? AND fingerprint IS NOT NULL`, []any{job.ID}, sqlite.ScanString)
		if err != nil {
			return f, fmt.Errorf("read how job %d failed: %w", job.ID, err)
		}
		f.Calls = slices.DeleteFunc(f.Calls, func(c classifier.Call) bool { return !slices.ContainsFunc(of, c.About) })
	}
	if job != nil && job.Status != workflow.PendingFailed {
		return f, nil
	}
	r, err := ReadRun(l.row, workflowID)
	if err != nil {
		return f, err
	}
	facts, err := ClassifierFacts(func(query string, args ...any) (*sql.Rows, error) { return l.tx.QueryContext(l.ctx, query, args...) }, r, l.nowMS)
	if err != nil || facts.Policy == nil {
		return f, err
	}
	if job != nil {
		facts.Held = slices.DeleteFunc(facts.Held, func(h hold.HeldJob) bool { return h.ID != job.ID })
	}
	if len(facts.Held) > 0 {
		d := classifier.Decide(facts)
		f.Next = &d
	}
	return f, nil
}
