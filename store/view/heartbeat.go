package view

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Heartbeat is how long the runner of a job may be silent.
type Heartbeat struct {
	JobID int64
	Limit workflow.TimeLimit
	Told  bool
}

// HeartbeatJobs selects the jobs of a runner whose policy limits its silence.
const HeartbeatJobs = `SELECT j.id, p.policy, j.told & 4 != 0 FROM job j JOIN job_policy p ON p.id = j.policy_id
	WHERE j.compute_node_id = ? AND j.status IN {live} AND j.phase = 0 AND p.watched = 1 ORDER BY j.id`

// ScanHeartbeat reads a row of the jobs whose heartbeats are watched.
func ScanHeartbeat(r sqlite.Scanner) (h Heartbeat, err error) {
	var text string
	if err := r.Scan(&h.JobID, &text, &h.Told); err != nil {
		return h, err
	}
	var p workflow.JobPolicy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return h, fmt.Errorf("read the policy of job %d: %w", h.JobID, err)
	}
	if limit := p.Timeouts.Limit(workflow.TimeoutHeartbeat); limit != nil {
		h.Limit = *limit
	}
	return h, nil
}

// Heartbeats returns how long a runner may be silent, according to each of its jobs that
// has a limit.
func (s Timeouts) Heartbeats(ctx context.Context, runnerID int64) ([]Heartbeat, error) {
	all, err := sqlite.SelectContext(ctx, s.DB.Read, ScanHeartbeat, HeartbeatJobs, runnerID)
	if err != nil {
		return nil, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	return WithLimit(all), nil
}

// WithLimit drops jobs without a heartbeat limit.
func WithLimit(all []Heartbeat) []Heartbeat {
	kept := all[:0]
	for _, h := range all {
		if h.Limit.After != "" {
			kept = append(kept, h)
		}
	}
	return kept
}

// Due reports whether the silence requires an action that has not been taken.
func (h *Heartbeat) Due(silence time.Duration) bool { return !h.Told && silence >= h.Limit.Duration() }
