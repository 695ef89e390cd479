package store

import (
	"database/sql"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// retries gathers what a job has used of the budgets for retries.
func (l *looker) retries(job int64) (f workflow.RetryFacts, err error) {
	var rules jobRules
	var counts, avoid sql.NullString
	var workflowID int64
	err = l.row(`SELECT workflow_id, failure_handler_id, policy_id, compute_node_id, rule_counts, counted_failures, avoid_nodes FROM job WHERE id = ?`,
		[]any{job}, &workflowID, &rules.handler, &rules.policy, &rules.runner, &counts, &f.Counted, &avoid)
	if err != nil {
		return f, err
	}
	if f.Rules, err = readRuleCounts(counts); err != nil {
		return f, err
	}
	if f.Avoided, err = readAvoided(avoid); err != nil || len(f.Rules) == 0 {
		return f, err
	}
	r, err := readRun(l.row, workflowID)
	if err != nil {
		return f, err
	}
	source := policySource{l.row}
	if f.Policies, err = source.policies(r, rules); err != nil || f.Policies.MaxRetriesTotal == nil {
		return f, err
	}
	f.OfAllJobs, err = source.countedRetries(r)
	return f, err
}
