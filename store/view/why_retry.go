package view

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// retries returns how much of the retry budgets a job has used.
func (l *factReader) retries(job int64) (f explain.RetryFacts, err error) {
	var rules JobRules
	var counts, avoid sql.NullString
	var workflowID int64
	err = l.row(`SELECT workflow_id, failure_handler_id, policy_id, compute_node_id, rule_counts, counted_failures, avoid_nodes FROM job WHERE id = ?`,
		[]any{job}, &workflowID, &rules.Handler, &rules.Policy, &rules.Runner, &counts, &f.Counted, &avoid)
	if err != nil {
		return f, err
	}
	if f.Rules, err = row.ReadRuleCounts(counts); err != nil {
		return f, err
	}
	if f.Avoided, err = ReadAvoided(avoid); err != nil || len(f.Rules) == 0 {
		return f, err
	}
	r, err := ReadRun(l.row, workflowID)
	if err != nil {
		return f, err
	}
	source := PolicySource{Row: l.row}
	if f.Policies, err = source.Policies(r, rules); err != nil || f.Policies.MaxRetriesTotal == nil {
		return f, err
	}
	f.OfAllJobs, err = source.CountedRetries(r)
	return f, err
}

// ReadAvoided reads a stored avoid list.
func ReadAvoided(text sql.NullString) (list []workflow.AvoidedNode, err error) {
	if !text.Valid {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text.String), &list); err != nil {
		return nil, fmt.Errorf("read an avoid list: %w", err)
	}
	return list, nil
}
