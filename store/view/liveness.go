package view

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// LiveRunner is one of our runners that has not left.
type LiveRunner struct {
	ID         int64
	WorkflowID int64
	Hostname   string
	PID        int64
	BootID     string
	OutputDir  string
	NodeType   string // local, slurm
	// AllocationID is its allocation; 0 if it is in none of ours.
	AllocationID int64
}

// Live returns our runners that have not left.
func (s Runners) Live(ctx context.Context) ([]LiveRunner, error) {
	runners, err := sqlite.SelectContext(ctx, s.DB.Read, func(r sqlite.Scanner) (n LiveRunner, err error) {
		return n, r.Scan(&n.ID, &n.WorkflowID, &n.Hostname, &n.PID, &n.BootID, &n.OutputDir, &n.NodeType, &n.AllocationID)
	}, `SELECT id, workflow_id, hostname, pid, COALESCE(boot_id, ''), COALESCE(output_dir, ''), compute_node_type,
			COALESCE(allocation_id, 0)
		FROM compute_node WHERE is_active = 1 AND runner_key IS NOT NULL ORDER BY id`)
	return runners, sqlite.Wrap(err, "list live runners")
}

// Delayed returns the workflows with ready jobs whose delay ends after afterMS and not
// after untilMS, and when the next delay ends after that; 0 if there is none.
func (s Jobs) Delayed(ctx context.Context, afterMS, untilMS int64) (due []int64, nextMS int64, err error) {
	due, err = sqlite.SelectContext(ctx, s.DB.Read, ScanID, `SELECT DISTINCT workflow_id FROM job
		WHERE status = {ready} AND not_before_ms > 0 AND not_before_ms > ? AND not_before_ms <= ?`, afterMS, untilMS)
	if err != nil {
		return nil, 0, fmt.Errorf("list delayed jobs: %w", err)
	}
	err = s.DB.Read.QueryRowContext(ctx, `SELECT COALESCE(MIN(not_before_ms), 0) FROM job
		WHERE status = {ready} AND not_before_ms > 0 AND not_before_ms > ?`, untilMS).Scan(&nextMS)
	return due, nextMS, sqlite.Wrap(err, "find the next delayed job")
}

// HaveOpenWork reports whether a daemon is needed although nobody is connected: a runner
// may be working, an allocation exists or is to be requested, a delay, timeout, deadline or
// claim hold is running, a notification is due, or a task is active.
func (s Workflows) HaveOpenWork(ctx context.Context) (open bool, err error) {
	err = s.DB.Read.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM compute_node n JOIN job j ON j.compute_node_id = n.id AND j.status IN {live} WHERE n.is_active = 1)
		OR EXISTS (SELECT 1 FROM job WHERE status = {ready} AND not_before_ms > 0 AND not_before_ms > ?)
		OR EXISTS (SELECT 1 FROM allocation WHERE state != 'ended')
		OR EXISTS (SELECT 1 FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.is_hidden = 0 WHERE c.state IN ('waiting', 'running'))
		OR EXISTS (`+WaitingEnds+`)
		OR EXISTS (SELECT 1 FROM submission s JOIN workflow w ON w.id = s.workflow_id JOIN job_count c ON c.workflow_id = w.id
			WHERE w.run_id = s.run_id AND w.has_ended = 0 AND w.is_canceled = 0 AND w.is_hidden = 0 AND c.status = {ready} AND c.n > 0
				AND NOT EXISTS (SELECT 1 FROM claim_hold h WHERE h.workflow_id = w.id AND h.until_ms = 0 AND `+HoldBinds+`))
		OR EXISTS (SELECT 1 FROM claim_hold WHERE ended_ms = 0 AND until_ms > 0)
		OR EXISTS (SELECT 1 FROM notification WHERE state = 'pending')
		OR EXISTS (SELECT 1 FROM workflow WHERE deadline_ms IS NOT NULL AND deadline_state != 1 AND has_ended = 0 AND is_canceled = 0 AND is_hidden = 0)
		OR EXISTS (SELECT 1 FROM job j JOIN workflow w ON w.id = j.workflow_id WHERE j.status = {pending_failed} AND json_extract(j.hold, '$.deadline_ms') IS NOT NULL
			AND w.is_canceled = 0 AND w.is_hidden = 0)
		OR EXISTS (SELECT 1 FROM job_policy p JOIN workflow w ON w.id = p.workflow_id WHERE p.watched = 1 AND w.has_ended = 0 AND w.is_canceled = 0
			AND w.is_hidden = 0 AND (
				p.policy ->> '$.timeouts.queue' IS NOT NULL AND EXISTS (SELECT 1 FROM job j WHERE j.policy_id = p.id AND j.status = {ready}
					AND j.policy_id IS NOT NULL AND j.told & 1 = 0 AND j.ready_ms IS NOT NULL)
				OR p.policy ->> '$.timeouts.total' IS NOT NULL AND EXISTS (SELECT 1 FROM job j WHERE j.policy_id = p.id AND j.status IN ({ready}, {pending}, {running}, {pending_failed})
					AND j.policy_id IS NOT NULL AND j.told & 8 = 0 AND j.first_ready_ms IS NOT NULL)))
		OR EXISTS (SELECT 1 FROM task WHERE status IN ('queued', 'running'))`, s.DB.Now().UnixMilli()).Scan(&open)
	return open, sqlite.Wrap(err, "check for open work")
}

// Workflow returns the workflow of one of our runners, and whether its runners stay when it
// is complete.
func (s Runners) Workflow(ctx context.Context, runnerID int64) (workflowID int64, staysOn bool, err error) {
	err = s.DB.Read.QueryRowContext(ctx, `SELECT w.id, w.compute_node_ignore_workflow_completion FROM compute_node n
		JOIN workflow w ON w.id = n.workflow_id WHERE n.id = ? AND n.runner_key IS NOT NULL`, runnerID).Scan(&workflowID, &staysOn)
	return workflowID, staysOn, OrNotFound(err, "compute_node", runnerID)
}
