package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// Simulate decides recorded attempts again, with other retry policies instead of those of
// the jobs and the workflow. If workflowID is 0, it takes all attempts of each job in the
// run in which one of its attempts ended at or after sinceMS.
func (s Policies) Simulate(ctx context.Context, policies []workflow.RetryPolicy, workflowID, sinceMS int64) (retry.RetrySimulation, error) {
	refs := make([]workflow.PolicyRef, len(policies))
	for i := range policies {
		refs[i].Policy = &policies[i]
	}
	if err := workflow.ProblemsError("simulation", (&workflow.RunPolicy{RetryPolicies: refs}).Validate()); err != nil {
		return retry.RetrySimulation{}, err
	}
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return retry.RetrySimulation{}, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	which, arg := `EXISTS (SELECT 1 FROM attempt b WHERE b.job_id = a.job_id AND b.run_id = a.run_id AND b.end_ms >= ?)`, sinceMS
	if workflowID != 0 {
		which, arg = `a.workflow_id = ?`, workflowID
		var one int
		err := tx.QueryRowContext(ctx, `SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0`, workflowID).Scan(&one)
		if err := OrNotFound(err, "workflow", workflowID); err != nil {
			return retry.RetrySimulation{}, err
		}
	}
	breakers, err := simulatedBreakers(ctx, tx)
	if err != nil {
		return retry.RetrySimulation{}, err
	}
	simulator := retry.NewSimulator(policies, breakers)
	if err := recordedAttempts(ctx, tx, which, arg, simulator.Add); err != nil {
		return retry.RetrySimulation{}, err
	}
	return simulator.Result(), nil
}

// simulatedBreakers returns the current circuit breakers of workflows.
func simulatedBreakers(ctx context.Context, tx *sql.Tx) (b retry.SimulatedBreakers, err error) {
	l := factReader{ctx: ctx, tx: tx}
	settings, err := PolicySource{Row: l.row}.Settings()
	if err != nil {
		return b, err
	}
	if nodes, on := settings.NodeBreaker.Breaker(); on {
		b.Nodes = &nodes
	}
	b.Of = map[int64][]workflow.CircuitBreaker{}
	_, err = selectFacts(&l, `SELECT id, json_extract(policy, '$.circuit_breakers') FROM workflow
		WHERE is_hidden = 0 AND json_extract(policy, '$.circuit_breakers') IS NOT NULL`, nil, func(r sqlite.Scanner) (none struct{}, err error) {
		var id int64
		var text string
		if err := r.Scan(&id, &text); err != nil {
			return none, err
		}
		var own []workflow.CircuitBreaker
		err = json.Unmarshal([]byte(text), &own)
		b.Of[id] = own
		return none, err
	})
	return b, sqlite.Wrap(err, "read the circuit breakers of workflows")
}

// recordedAttempts yields ended attempts in the order of their ends. Those of a job in a
// run stay in sequence, whatever the clocks of their nodes said.
func recordedAttempts(ctx context.Context, tx *sql.Tx, which string, arg int64, yield func(*retry.RecordedAttempt)) error {
	rows, err := tx.QueryContext(ctx, `SELECT a.workflow_id, a.job_id, a.run_id, a.attempt_id, a.compute_node_id, a.hostname, a.start_ms, a.end_ms, a.status,
			a.return_code, a.cause, a.evidence, a.category, a.subcategory, a.action, a.rule, a.counted, a.policy_hash, COALESCE(q.num_cpus, 1)
		FROM attempt a JOIN workflow w ON w.id = a.workflow_id JOIN job j ON j.id = a.job_id JOIN claim_class c ON c.id = j.class_id
		LEFT JOIN resource_requirements q ON q.id = c.requirements_id
		WHERE w.is_hidden = 0 AND `+which+`
		ORDER BY MAX(a.end_ms) OVER (PARTITION BY a.job_id, a.run_id ORDER BY a.attempt_id), a.job_id, a.run_id, a.attempt_id`, arg)
	if err != nil {
		return fmt.Errorf("read recorded attempts: %w", err)
	}
	defer rows.Close()
	sets := recordedPolicies{}
	for rows.Next() {
		a, err := scanRecorded(rows)
		if err == nil {
			a.Policies, err = sets.read(ctx, tx, a.Decision.PolicyHash)
		}
		if err != nil {
			return fmt.Errorf("read attempt %d of job %d: %w", a.AttemptID, a.JobID, err)
		}
		yield(&a)
	}
	return rows.Err()
}

func scanRecorded(r sqlite.Scanner) (a retry.RecordedAttempt, err error) {
	var host, evidence sql.NullString
	var category, subcategory string
	err = r.Scan(&a.WorkflowID, &a.JobID, &a.RunID, &a.AttemptID, &a.RunnerID, &host, &a.StartedMS, &a.EndedMS, &a.Status,
		&a.ReturnCode, &a.Cause.Kind, &evidence, &category, &subcategory, &a.Decision.Action, &a.Decision.Rule, &a.Decision.Counted, &a.Decision.PolicyHash, &a.CPUs)
	if err != nil {
		return a, err
	}
	a.Node, a.Cause.Status, a.Cause.ReturnCode = host.String, a.Status, a.ReturnCode
	if a.ByClient = !evidence.Valid; !a.ByClient {
		err = json.Unmarshal([]byte(evidence.String), &a.Evidence)
	}
	a.Evidence.Category, a.Evidence.Subcategory = category, subcategory
	if c := failure.Classify(a.Evidence, workflow.ReturnCodes{}, nil); c.Kind == a.Cause.Kind { // add what was not recorded
		c.Status, c.ReturnCode = a.Status, a.ReturnCode
		a.Cause = c
	}
	return a, err
}

// recordedPolicies caches the policies of decisions by hash; nil if they were not stored.
type recordedPolicies map[string]*retry.Policies

func (sets recordedPolicies) read(ctx context.Context, tx *sql.Tx, hash string) (*retry.Policies, error) {
	if p, known := sets[hash]; known || hash == "" {
		return p, nil
	}
	sets[hash] = nil
	var text string
	switch err := tx.QueryRowContext(ctx, `SELECT policies FROM policy_set WHERE hash = ?`, hash).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the policies %s: %w", hash, err)
	}
	p := &retry.Policies{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, fmt.Errorf("read the policies %s: %w", hash, err)
	}
	sets[hash] = p
	return p, nil
}
