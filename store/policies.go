package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobRules is what the rules of a job are made of.
type jobRules struct {
	handler sql.NullInt64
	policy  sql.NullInt64 // of job_policy
}

// policies reads the rules that apply to a job, and completes its history.
func (f *finisher) policies(job int64, h *workflow.History) (workflow.Policies, error) {
	var rules jobRules
	var counts sql.NullString
	err := f.tx.row(`SELECT failure_handler_id, policy_id, rule_counts, counted_failures FROM job WHERE id = ?`, []any{job},
		&rules.handler, &rules.policy, &counts, &h.CountedFails)
	if err != nil {
		return workflow.Policies{}, fmt.Errorf("read the policies of job %d: %w", job, err)
	}
	if counts.Valid {
		if err := json.Unmarshal([]byte(counts.String), &h.Rules); err != nil {
			return workflow.Policies{}, fmt.Errorf("read the retries of job %d: %w", job, err)
		}
	}
	p, err := f.policiesOf(rules)
	if err != nil || p.MaxRetriesTotal == nil {
		return p, err
	}
	h.WorkflowRetries, err = f.workflowRetries()
	return p, err
}

// policiesOf reads the policies of jobs that have the same rules, once.
func (f *finisher) policiesOf(rules jobRules) (workflow.Policies, error) {
	if p, known := f.rules[rules]; known {
		return p, nil
	}
	p := workflow.Policies{UsePendingFailed: f.run.holdFailures, Default: workflow.DefaultPolicy()}
	ofRun, err := f.run.policy()
	if err != nil {
		return p, err
	}
	p.GlobalMaxRetries, p.MaxRetriesTotal = ofRun.GlobalMaxRetries, ofRun.MaxRetriesTotal
	if p.Workflow, err = f.tx.resolve(ofRun.RetryPolicies); err != nil {
		return p, err
	}
	if rules.handler.Valid {
		if p.Handler, err = f.tx.handler(rules.handler.Int64); err != nil {
			return p, err
		}
	}
	if rules.policy.Valid {
		ofJob, err := f.tx.jobPolicy(rules.policy.Int64)
		if err != nil {
			return p, err
		}
		if p.Job, err = f.tx.resolve(ofJob.RetryPolicies); err != nil {
			return p, err
		}
	}
	if f.rules == nil {
		f.rules = map[jobRules]workflow.Policies{}
	}
	f.rules[rules] = p
	return p, nil
}

// resolve returns the policies that a list refers to.
func (tx *Tx) resolve(refs []workflow.PolicyRef) ([]workflow.RetryPolicy, error) {
	var policies []workflow.RetryPolicy
	for _, r := range refs {
		if r.Policy == nil {
			return nil, workflow.Errorf(workflow.CodeNotFound, "there is no retry policy %q", r.Name)
		}
		policies = append(policies, *r.Policy)
	}
	return policies, nil
}

// jobPolicy reads what jobs say about their failures.
func (tx *Tx) jobPolicy(id int64) (p workflow.JobPolicy, err error) {
	var text string
	if err := tx.row(`SELECT policy FROM job_policy WHERE id = ?`, []any{id}, &text); err != nil {
		return p, fmt.Errorf("read job policy %d: %w", id, err)
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read job policy %d: %w", id, err)
	}
	return p, nil
}

// handler reads a failure handler.
func (tx *Tx) handler(id int64) (*workflow.FailureHandlerDefinition, error) {
	h, err := getOne(tx, "failure_handler", id, `SELECT `+failureHandlerColumns+` FROM failure_handler WHERE id = ?`, scanFailureHandler)
	if err != nil {
		return nil, err
	}
	return h.Definition()
}

// workflowRetries counts the counted retries of all jobs in the run.
func (f *finisher) workflowRetries() (n int64, err error) {
	if err := f.attempts.flush(); err != nil { // what this turn has granted counts
		return 0, fmt.Errorf("write attempts of workflow %d: %w", f.run.workflowID, err)
	}
	err = f.tx.row(`SELECT COUNT(*) FROM attempt WHERE workflow_id = ? AND run_id = ? AND counted = 1`, []any{f.run.workflowID, f.run.runID}, &n)
	if err != nil {
		return 0, fmt.Errorf("count the retries of workflow %d: %w", f.run.workflowID, err)
	}
	return n, nil
}
