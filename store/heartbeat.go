package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Heartbeat is for how long the runner of a job may be silent.
type Heartbeat struct {
	JobID int64
	Limit workflow.TimeLimit
	told  bool
}

// heartbeatJobs select the jobs of a runner that say how long it may be silent.
const heartbeatJobs = `SELECT j.id, p.policy, j.told & 4 != 0 FROM job j JOIN job_policy p ON p.id = j.policy_id
	WHERE j.compute_node_id = ? AND j.status IN (3, 4) AND j.phase = 0 AND p.watched = 1 ORDER BY j.id`

func scanHeartbeat(r rowScanner) (h Heartbeat, err error) {
	var text string
	if err := r.Scan(&h.JobID, &text, &h.told); err != nil {
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

// Heartbeats returns for how long a runner may be silent, as those of its jobs
// have it that say it.
func (s *Store) Heartbeats(ctx context.Context, runnerID int64) ([]Heartbeat, error) {
	rows, err := s.read.QueryContext(ctx, heartbeatJobs, runnerID)
	if err != nil {
		return nil, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	all, err := collect(rows, scanHeartbeat)
	if err != nil {
		return nil, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	return withLimit(all), nil
}

// withLimit leaves out the jobs that say nothing about heartbeats.
func withLimit(all []Heartbeat) []Heartbeat {
	kept := all[:0]
	for _, h := range all {
		if h.Limit.After != "" {
			kept = append(kept, h)
		}
	}
	return kept
}

// Due reports whether something is to be done after so much silence.
func (h *Heartbeat) Due(silence time.Duration) bool { return !h.told && silence >= h.Limit.Duration() }

// ExpireHeartbeats does what jobs say for the case that their runner has been
// silent for so long, and returns for how many. A runner in an allocation may
// still run them, and only Slurm can end that: the allocation is to be canceled,
// and its end is that of the jobs. While Slurm has suspended it, nothing is done.
func (s *Store) ExpireHeartbeats(_ context.Context, runnerID int64, silence time.Duration) (n int, err error) {
	err = s.writer.do("expire heartbeats", func(tx *Tx) (err error) {
		n, err = tx.expireHeartbeats(runnerID, silence)
		return err
	})
	return n, err
}

func (tx *Tx) expireHeartbeats(runnerID int64, silence time.Duration) (n int, err error) {
	runner, err := tx.runner(runnerID)
	if err != nil || !runner.isActive {
		return 0, err
	}
	allocation, suspended, err := tx.placeOf(runnerID)
	if err != nil || suspended {
		return 0, err
	}
	rows, err := tx.query(heartbeatJobs, runnerID)
	if err != nil {
		return 0, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	all, err := collect(rows, scanHeartbeat)
	if err != nil {
		return 0, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	leases, err := tx.leases(runnerID)
	if err != nil {
		return 0, err
	}
	r, err := tx.run(runner.workflowID)
	if err != nil {
		return 0, err
	}
	f := newFinisher(tx, r)
	host := holder{id: &runner.id, hostname: runner.hostname}
	for _, h := range withLimit(all) {
		l := leases.of(h.JobID)
		if l == nil || !h.Due(silence) {
			continue
		}
		if allocation != 0 && h.Limit.Policy != workflow.OnTimeoutAlert {
			err = f.unheard(l, &h, allocation)
		} else {
			err = f.silent(l, &h, host)
		}
		if err != nil {
			return 0, fmt.Errorf("%s of job %d: %w", workflow.TimeoutHeartbeat, h.JobID, err)
		}
		n++
	}
	if n > 0 {
		tx.changes.Runners = appendNew(tx.changes.Runners, []int64{runnerID})
	}
	_, err = f.flush()
	return n, err
}

// placeOf is the live allocation that a runner is in, 0 if it is in none, and
// whether Slurm has suspended it.
func (tx *Tx) placeOf(runnerID int64) (allocation int64, suspended bool, err error) {
	var state string
	err = tx.row(`SELECT a.id, a.slurm_state FROM compute_node n JOIN allocation a ON a.id = n.allocation_id WHERE n.id = ? AND a.state != 'ended'`,
		[]any{runnerID}, &allocation, &state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("look at the allocation of runner %d: %w", runnerID, err)
	}
	return allocation, strings.HasPrefix(state, "SUSPENDED"), nil
}

// unheard has the allocation canceled whose runner says nothing. The job keeps
// its lease until then, so that it does not run twice.
func (f *finisher) unheard(l *lease, h *Heartbeat, allocation int64) error {
	const which = workflow.TimeoutHeartbeat
	var doom any // what ends it is not the rules' business
	if h.Limit.Policy.Fails() {
		doom = string(which)
	}
	err := f.tx.execOne(`UPDATE job SET told = told | ?2, cancel_fence = iif(?3 IS NULL, cancel_fence, fence), cancel_for = COALESCE(?3, cancel_for)
		WHERE id = ?1 AND status IN (3, 4)`, l.JobID, which.Bit(), doom)
	if err != nil {
		return err
	}
	f.changed = true
	_, err = f.tx.requestCancel(`id = ?`, allocation, fmt.Sprintf("%s, and it has job %s", h.Limit.Reason(which), l.name))
	return err
}

// unheardJobs are the jobs of a runner for which its allocation is canceled, as it
// says nothing.
func (tx *Tx) unheardJobs(runnerID int64) (map[int64]bool, error) {
	rows, err := tx.query(heartbeatJobs, runnerID)
	if err != nil {
		return nil, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	all, err := collect(rows, scanHeartbeat)
	if err != nil {
		return nil, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	jobs := map[int64]bool{}
	for _, h := range withLimit(all) {
		if h.told && h.Limit.Policy != workflow.OnTimeoutAlert {
			jobs[h.JobID] = true
		}
	}
	return jobs, nil
}

// silent does what a job says for the case that its runner, in no allocation, says nothing. Its
// lease is taken away: should the runner speak again, it is told to end it.
func (f *finisher) silent(l *lease, h *Heartbeat, host holder) error {
	reason := h.Limit.Reason(workflow.TimeoutHeartbeat)
	if h.Limit.Policy == workflow.OnTimeoutAlert {
		if err := f.tx.execOne(`UPDATE job SET told = told | ? WHERE id = ?`, workflow.TimeoutHeartbeat.Bit(), l.JobID); err != nil {
			return err
		}
		a := h.Limit.Alert(workflow.TimeoutHeartbeat, []string{l.name}, 1)
		a.JobID, a.JobName = l.JobID, l.name
		a.Text += fmt.Sprintf("\nIt is on %s; nothing is done about it.", host.hostname)
		return f.tx.alert(f.run, a)
	}
	if h.Limit.Policy.Fails() {
		l.doom = fmt.Sprintf("%s has the policy %s", workflow.TimeoutHeartbeat, h.Limit.Policy)
	} else if l.status == workflow.Pending {
		return f.tx.giveBack(f.run, []*lease{l})
	}
	if err := f.endedBy(l, host, workflow.Evidence{LostRunner: true, Silent: true, Note: reason}); err != nil {
		return err
	}
	f.givesUp(h.Limit.Policy, l, reason)
	return nil
}
