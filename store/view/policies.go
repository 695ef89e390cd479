package view

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// JobRules determines which rules apply to a job.
type JobRules struct {
	Handler sql.NullInt64
	Policy  sql.NullInt64 // of job_policy
	Runner  sql.NullInt64 // whose queues' policies apply
	Ends    bool          // the job is an end job or of a compensation
}

// PolicySource reads policies with queries that return one row.
type PolicySource struct {
	Row func(query string, args []any, dest ...any) error
}

// Policies returns the policies that apply to a job in a run.
func (s PolicySource) Policies(r *Run, rules JobRules) (p retry.Policies, err error) {
	p.UsePendingFailed, p.NeverHeld = r.holdFailures, rules.Ends
	ofRun, err := r.Policy()
	if err != nil {
		return p, err
	}
	p.GlobalMaxRetries, p.MaxRetriesTotal = ofRun.GlobalMaxRetries, ofRun.MaxRetriesTotal
	if p.Workflow, err = s.Resolve(&p, ofRun.RetryPolicies); err != nil {
		return p, err
	}
	if rules.Handler.Valid {
		if p.Handler, err = s.handler(rules.Handler.Int64); err != nil {
			return p, err
		}
	}
	if rules.Policy.Valid {
		var ofJob workflow.JobPolicy
		if err := s.JSON(&ofJob, `SELECT policy FROM job_policy WHERE id = ?`, rules.Policy.Int64); err != nil {
			return p, fmt.Errorf("read job policy %d: %w", rules.Policy.Int64, err)
		}
		p.OnRunTimeout = ofJob.Timeouts.OnRunTimeout()
		if p.Job, err = s.Resolve(&p, ofJob.RetryPolicies); err != nil {
			return p, err
		}
	}
	return p, s.applySettings(&p, rules.Runner)
}

// applySettings adds the settings of the server.
func (s PolicySource) applySettings(p *retry.Policies, runner sql.NullInt64) error {
	settings, err := s.Settings()
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
	retry.ApplySettings(&settings, p, site, replaced)
	return nil
}

// Resolve returns the policies that a list refers to. A policy that was deleted after the
// workflow ended is recorded as missing, since late reports still need a decision.
func (s PolicySource) Resolve(p *retry.Policies, refs []workflow.PolicyRef) ([]workflow.RetryPolicy, error) {
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

// stored reads the current version of a stored policy.
func (s PolicySource) stored(name string) (*workflow.RetryPolicy, error) {
	p := &workflow.RetryPolicy{}
	return p, OrNoRetryPolicy(s.JSON(p, `SELECT policy FROM retry_policy WHERE name = ?`, name), name)
}

// JSON decodes a JSON column.
func (s PolicySource) JSON(into any, query string, arg any) error {
	var text string
	if err := s.Row(query, []any{arg}, &text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// handler reads a failure handler.
func (s PolicySource) handler(id int64) (*workflow.FailureHandlerDefinition, error) {
	h := workflow.FailureHandler{ID: id}
	if err := s.Row(`SELECT workflow_id, name, rules FROM failure_handler WHERE id = ?`, []any{id}, &h.WorkflowID, &h.Name, &h.Rules); err != nil {
		return nil, OrNotFound(err, "failure_handler", id)
	}
	return h.Definition()
}

// CountedRetries returns how many retries of all jobs counted against the budget of a run.
func (s PolicySource) CountedRetries(r *Run) (n int64, err error) {
	err = s.Row(`SELECT COALESCE(SUM(counted), 0) FROM cause_count WHERE workflow_id = ? AND run_id = ?`, []any{r.WorkflowID, r.RunID}, &n)
	return n, sqlite.Wrap(err, "count the retries of workflow %d", r.WorkflowID)
}

func noRetryPolicy(name string) *workflow.Error {
	return workflow.Errorf(workflow.CodeNotFound, "retry policy %q does not exist", name)
}

// OrNoRetryPolicy turns sql.ErrNoRows into an error that names the policy.
func OrNoRetryPolicy(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return noRetryPolicy(name)
	}
	return fmt.Errorf("read retry policy %s: %w", name, err)
}

// Settings returns the server's retry settings; the zero value if none are stored.
func (s PolicySource) Settings() (settings workflow.RetrySettings, err error) {
	err = s.JSON(&settings, `SELECT settings FROM retry_settings WHERE id = ?`, 1)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return settings, fmt.Errorf("read the retry settings: %w", err)
	}
	return settings, nil
}
