package engine

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// Policies returns the rules that apply to a job whose attempt a runner had, and completes
// the job's history.
func (f *Finisher) Policies(job int64, runner sql.NullInt64, h *workflow.History) (retry.Policies, error) {
	rules := view.JobRules{Runner: runner}
	var counts sql.NullString
	err := f.tx.Row(`SELECT failure_handler_id, policy_id, rule_counts, counted_failures,
			EXISTS (SELECT 1 FROM stage s WHERE s.id = job.stage_id AND s.kind IN ('end', 'compensation')) FROM job WHERE id = ?`, []any{job},
		&rules.Handler, &rules.Policy, &counts, &h.CountedFails, &rules.Ends)
	if err != nil {
		return retry.Policies{}, fmt.Errorf("read the policies of job %d: %w", job, err)
	}
	if h.Rules, err = row.ReadRuleCounts(counts); err != nil {
		return retry.Policies{}, fmt.Errorf("job %d: %w", job, err)
	}
	p, err := f.policiesOf(rules)
	if err != nil || p.MaxRetriesTotal == nil {
		return p, err
	}
	h.WorkflowRetries, err = core.CountedRetries(f.tx, f.Run)
	return p, err
}

// policiesOf reads the policies of jobs that share the same rules once, and stores them so
// that decisions can be reproduced.
func (f *Finisher) policiesOf(rules view.JobRules) (retry.Policies, error) {
	if p, known := f.Rules[rules]; known {
		return p, nil
	}
	p, err := view.PolicySource{Row: f.tx.Row}.Policies(f.Run, rules)
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("write the policies of workflow %d: %w", f.Run.WorkflowID, err)
	}
	if _, err := f.tx.Exec(`INSERT INTO policy_set (hash, policies) VALUES (?, ?) ON CONFLICT DO NOTHING`, p.Hash(), string(text)); err != nil {
		return p, fmt.Errorf("keep the policies of workflow %d: %w", f.Run.WorkflowID, err)
	}
	if f.Rules == nil {
		f.Rules = map[view.JobRules]retry.Policies{}
	}
	f.Rules[rules] = p
	return p, nil
}
