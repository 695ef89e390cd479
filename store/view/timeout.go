package view

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// OverdueJobs selects the jobs with policy ?1 whose timeout has expired if it began at ?2
// or earlier. The indexes have the same conditions.
var OverdueJobs = map[workflow.Timeout]string{
	workflow.TimeoutQueue: `policy_id = ?1 AND status = {ready} AND policy_id IS NOT NULL AND told & 1 = 0 AND ready_ms <= ?2 AND not_before_ms <= ?2`,
	workflow.TimeoutRun:   `policy_id = ?1 AND status = {running} AND policy_id IS NOT NULL AND told & 2 = 0 AND start_ms <= ?2`,
	workflow.TimeoutTotal: `policy_id = ?1 AND status IN ({ready}, {pending}, {running}, {pending_failed}) AND policy_id IS NOT NULL AND told & 8 = 0 AND first_ready_ms <= ?2 AND phase = 0`,
}

// WatchedPolicies selects the policies with timeouts, in workflows that have not ended. The
// + makes SQLite use the index of such policies.
const WatchedPolicies = `SELECT p.id, p.workflow_id, p.policy FROM job_policy p JOIN workflow w ON w.id = p.workflow_id
	WHERE p.watched = 1 AND w.has_ended = 0 AND w.is_canceled = 0 AND w.is_hidden = 0 ORDER BY +p.id`

// Overdue describes jobs whose timeout has expired.
type Overdue struct {
	WorkflowID int64
	PolicyID   int64
	Timeout    workflow.Timeout
	Limit      workflow.TimeLimit
	Example    int64 // one of the jobs
}

// Overdue returns the jobs whose timeout has expired by the clock of the database, in
// workflows that have not ended.
func (s Timeouts) Overdue(ctx context.Context) ([]Overdue, error) {
	type watched struct {
		id, workflowID int64
		text           string
	}
	policies, err := sqlite.SelectContext(ctx, s.DB.Read, func(r sqlite.Scanner) (p watched, err error) { return p, r.Scan(&p.id, &p.workflowID, &p.text) }, WatchedPolicies)
	if err != nil {
		return nil, fmt.Errorf("list timeouts: %w", err)
	}
	now := s.DB.Now().UnixMilli()
	var all []Overdue
	for _, p := range policies {
		var policy workflow.JobPolicy
		if err := json.Unmarshal([]byte(p.text), &policy); err != nil {
			return nil, fmt.Errorf("read job policy %d: %w", p.id, err)
		}
		for _, which := range []workflow.Timeout{workflow.TimeoutTotal, workflow.TimeoutQueue, workflow.TimeoutRun} {
			limit := policy.Timeouts.Limit(which)
			if limit == nil {
				continue
			}
			o := Overdue{WorkflowID: p.workflowID, PolicyID: p.id, Timeout: which, Limit: *limit}
			err := s.DB.Read.QueryRowContext(ctx, `SELECT COALESCE((SELECT id FROM job WHERE `+OverdueJobs[which]+` LIMIT 1), 0)`,
				p.id, now-limit.Duration().Milliseconds()).Scan(&o.Example)
			if err != nil {
				return nil, fmt.Errorf("find jobs of workflow %d with an expired %s: %w", p.workflowID, which, err)
			}
			if o.Example != 0 {
				all = append(all, o)
			}
		}
	}
	return all, nil
}
