package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// ExpireHeartbeats applies the heartbeat policies of a runner's jobs after it has been
// silent for so long, and returns for how many. A runner in an allocation may still be
// running them, and only Slurm can end that: the allocation is canceled, and its end ends
// the jobs. Nothing is done while Slurm has suspended it.
func (s Timeouts) ExpireHeartbeats(_ context.Context, runnerID int64, silence time.Duration) (n int, err error) {
	err = s.shared.Do("expire heartbeats", func(tx *core.Tx) (err error) {
		n, err = expireHeartbeats(tx, runnerID, silence)
		return err
	})
	return n, err
}

func expireHeartbeats(tx *core.Tx, runnerID int64, silence time.Duration) (n int, err error) {
	runner, err := core.LoadRunner(tx, runnerID)
	if err != nil || !runner.IsActive {
		return 0, err
	}
	allocation, suspended, err := placeOf(tx, runnerID)
	if err != nil || suspended {
		return 0, err
	}
	all, err := sqlite.Select(tx, view.ScanHeartbeat, view.HeartbeatJobs, runnerID)
	if err != nil {
		return 0, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	leases, err := core.LoadLeases(tx, runnerID)
	if err != nil {
		return 0, err
	}
	r, err := core.LoadRun(tx, runner.WorkflowID)
	if err != nil {
		return 0, err
	}
	f := engine.NewFinisher(tx, r)
	host := engine.Holder{ID: &runner.ID, Hostname: runner.Hostname}
	for _, h := range view.WithLimit(all) {
		l := leases.Of(h.JobID)
		if l == nil || !h.Due(silence) {
			continue
		}
		if allocation != 0 && h.Limit.Policy != workflow.OnTimeoutAlert {
			err = f.CancelSilent(l, &h, allocation)
		} else {
			err = f.ExpireHeartbeat(l, &h, host)
		}
		if err != nil {
			return 0, fmt.Errorf("%s of job %d: %w", workflow.TimeoutHeartbeat, h.JobID, err)
		}
		n++
	}
	if n > 0 {
		tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, []int64{runnerID})
	}
	_, err = f.Flush()
	return n, err
}

// placeOf returns the live allocation of a runner, 0 if it is in none, and whether Slurm
// has suspended it.
func placeOf(tx *core.Tx, runnerID int64) (allocation int64, suspended bool, err error) {
	var state string
	err = tx.Row(`SELECT a.id, a.slurm_state FROM compute_node n JOIN allocation a ON a.id = n.allocation_id WHERE n.id = ? AND a.state != 'ended'`,
		[]any{runnerID}, &allocation, &state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("read the allocation of runner %d: %w", runnerID, err)
	}
	return allocation, strings.HasPrefix(state, failure.Suspended), nil
}
