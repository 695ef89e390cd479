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
	runner  sql.NullInt64 // whose queues' policies apply
	ends    bool          // the job is an end job or of a compensation
}

// policies reads the rules that apply to a job whose attempt a runner had, and
// completes its history.
func (f *finisher) policies(job int64, runner sql.NullInt64, h *workflow.History) (workflow.Policies, error) {
	rules := jobRules{runner: runner}
	var counts sql.NullString
	err := f.tx.row(`SELECT failure_handler_id, policy_id, rule_counts, counted_failures,
			EXISTS (SELECT 1 FROM stage s WHERE s.id = job.stage_id AND s.kind IN ('end', 'compensation')) FROM job WHERE id = ?`, []any{job},
		&rules.handler, &rules.policy, &counts, &h.CountedFails, &rules.ends)
	if err != nil {
		return workflow.Policies{}, fmt.Errorf("read the policies of job %d: %w", job, err)
	}
	if h.Rules, err = readRuleCounts(counts); err != nil {
		return workflow.Policies{}, fmt.Errorf("job %d: %w", job, err)
	}
	p, err := f.policiesOf(rules)
	if err != nil || p.MaxRetriesTotal == nil {
		return p, err
	}
	h.WorkflowRetries, err = f.tx.countedRetries(f.run)
	return p, err
}

// readRuleCounts reads how many retries each rule has granted a job.
func readRuleCounts(text sql.NullString) (counts map[string]workflow.RuleCount, err error) {
	if !text.Valid {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text.String), &counts); err != nil {
		return nil, fmt.Errorf("read the retries: %w", err)
	}
	return counts, nil
}

// policiesOf reads the policies of jobs that have the same rules, once, and
// keeps them for those who want to follow the decisions.
func (f *finisher) policiesOf(rules jobRules) (workflow.Policies, error) {
	if p, known := f.rules[rules]; known {
		return p, nil
	}
	p, err := policySource{f.tx.row}.policies(f.run, rules)
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("write the policies of workflow %d: %w", f.run.workflowID, err)
	}
	if _, err := f.tx.exec(`INSERT INTO policy_set (hash, policies) VALUES (?, ?) ON CONFLICT DO NOTHING`, p.Hash(), string(text)); err != nil {
		return p, fmt.Errorf("keep the policies of workflow %d: %w", f.run.workflowID, err)
	}
	if f.rules == nil {
		f.rules = map[jobRules]workflow.Policies{}
	}
	f.rules[rules] = p
	return p, nil
}

// policySource reads policies by means of queries that return one row.
type policySource struct {
	row func(query string, args []any, dest ...any) error
}

// policies are those that hold in a run.
func (s policySource) policies(r *run, rules jobRules) (p workflow.Policies, err error) {
	p.UsePendingFailed, p.NeverHeld = r.holdFailures, rules.ends
	ofRun, err := r.policy()
	if err != nil {
		return p, err
	}
	p.GlobalMaxRetries, p.MaxRetriesTotal = ofRun.GlobalMaxRetries, ofRun.MaxRetriesTotal
	if p.Workflow, err = s.resolve(&p, ofRun.RetryPolicies); err != nil {
		return p, err
	}
	if rules.handler.Valid {
		if p.Handler, err = s.handler(rules.handler.Int64); err != nil {
			return p, err
		}
	}
	if rules.policy.Valid {
		var ofJob workflow.JobPolicy
		if err := s.json(&ofJob, `SELECT policy FROM job_policy WHERE id = ?`, rules.policy.Int64); err != nil {
			return p, fmt.Errorf("read job policy %d: %w", rules.policy.Int64, err)
		}
		p.OnRunTimeout = ofJob.Timeouts.OnRun()
		if p.Job, err = s.resolve(&p, ofJob.RetryPolicies); err != nil {
			return p, err
		}
	}
	return p, s.applySettings(&p, rules.runner)
}

// applySettings adds what the server says.
func (s policySource) applySettings(p *workflow.Policies, runner sql.NullInt64) error {
	settings, err := s.settings()
	if err != nil {
		return err
	}
	site, err := s.site(runner)
	if err != nil {
		return err
	}
	var replaced *workflow.RetryPolicy
	if settings.DefaultPolicy != "" {
		if replaced, err = s.stored(settings.DefaultPolicy); err != nil {
			return err
		}
	}
	settings.Apply(p, site, replaced)
	return nil
}

// resolve returns the policies that a list refers to. One that was deleted since
// the workflow ended is noted as missing: what was reported must be decided.
func (s policySource) resolve(p *workflow.Policies, refs []workflow.PolicyRef) ([]workflow.RetryPolicy, error) {
	var policies []workflow.RetryPolicy
	for _, r := range refs {
		if r.Policy != nil {
			policies = append(policies, *r.Policy)
			continue
		}
		stored, err := s.stored(r.Name)
		switch {
		case workflow.CodeOf(err) == workflow.CodeNotFound:
			p.Missing = append(p.Missing, r.Name)
		case err != nil:
			return nil, err
		default:
			policies = append(policies, *stored)
		}
	}
	return policies, nil
}

// stored reads what a stored policy says now.
func (s policySource) stored(name string) (*workflow.RetryPolicy, error) {
	p := &workflow.RetryPolicy{}
	return p, orNoRetryPolicy(s.json(p, `SELECT policy FROM retry_policy WHERE name = ?`, name), name)
}

// json reads a column with JSON.
func (s policySource) json(into any, query string, arg any) error {
	var text string
	if err := s.row(query, []any{arg}, &text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// handler reads a failure handler.
func (s policySource) handler(id int64) (*workflow.FailureHandlerDefinition, error) {
	h := workflow.FailureHandler{ID: id}
	if err := s.row(`SELECT workflow_id, name, rules FROM failure_handler WHERE id = ?`, []any{id}, &h.WorkflowID, &h.Name, &h.Rules); err != nil {
		return nil, orNotFound(err, "failure_handler", id)
	}
	return h.Definition()
}
