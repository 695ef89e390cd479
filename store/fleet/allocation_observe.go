package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// Observation is the observed state of a live allocation.
type Observation struct {
	AllocationID int64
	State        compute.AllocationState // intent, pending or active
	SlurmState   string
	SlurmReason  string
	NodeList     string
	SubmitMS     int64 // for this and the next two, 0 keeps the known value
	StartMS      int64
	LimitMS      int64
	AbsentMS     int64 // since when squeue has not listed it
	OverMS       int64 // since when Slurm has been ending it
	// NodeLoss says that and why Slurm preempts it. Nil keeps the known value, which may come
	// from its runner; an empty one says that it is not preempted.
	NodeLoss *workflow.SlurmEvidence
	// RestartCount, if it is higher than the allocation's, says that Slurm has requeued it.
	// The other fields then describe the restart.
	RestartCount int64
}

// Observe stores the observed states of live allocations. Ended allocations are not
// changed.
func (s Allocations) Observe(_ context.Context, seen []Observation) error {
	if len(seen) == 0 {
		return nil
	}
	return s.shared.Do("observe allocations", func(tx *core.Tx) error {
		for i := range seen {
			a, err := getAllocation(tx, seen[i].AllocationID)
			if workflow.CodeOf(err) == workflow.CodeNotFound {
				continue // deleted with its workflow
			}
			if err == nil && a.IsLive() {
				err = recordObservation(tx, &a, &seen[i])
			}
			if err != nil {
				return fmt.Errorf("observe allocation %d: %w", seen[i].AllocationID, err)
			}
		}
		return nil
	})
}

func recordObservation(tx *core.Tx, a *compute.Allocation, o *Observation) error {
	if o.RestartCount > a.RestartCount && !a.IsDuplicate {
		next, err := recordRestart(tx, a, o.RestartCount)
		if err != nil || !next.IsLive() {
			return err
		}
		a = &next
	}
	if o.State == compute.AllocationIntent && a.SlurmJobID != 0 {
		return nil // observed before sbatch answered
	}
	known := *a
	if o.NodeLoss != nil {
		a.NodeLoss = o.NodeLoss
	}
	taken := ""
	if a.NodeLoss != nil && *a.NodeLoss != (workflow.SlurmEvidence{}) {
		text, err := json.Marshal(a.NodeLoss)
		if err != nil {
			return fmt.Errorf("write the preemption: %w", err)
		}
		taken = string(text)
	}
	a.State, a.SlurmState, a.SlurmReason, a.AbsentMS, a.OverMS = o.State, o.SlurmState, o.SlurmReason, o.AbsentMS, o.OverMS
	if a.NodeList = o.NodeList; a.NodeList == "" {
		a.NodeList = known.NodeList
	}
	for field, value := range map[*int64]int64{&a.SubmitMS: o.SubmitMS, &a.StartMS: o.StartMS, &a.LimitMS: o.LimitMS} {
		if value != 0 {
			*field = value
		}
	}
	// A call of a runner proves that its allocation is active.
	if known.State == compute.AllocationActive {
		a.State = compute.AllocationActive
	}
	err := tx.ExecOne(`UPDATE allocation SET state = ?, slurm_state = ?, slurm_reason = ?, node_list = ?, submit_ms = ?, start_ms = ?, limit_ms = ?,
			absent_ms = ?, over_ms = ?, taken = ? WHERE id = ? AND state = ?`,
		string(a.State), a.SlurmState, a.SlurmReason, a.NodeList, a.SubmitMS, a.StartMS, a.LimitMS, a.AbsentMS, a.OverMS, taken, a.ID, string(known.State))
	if err != nil {
		return err
	}
	if a.LimitMS != known.LimitMS && a.LimitMS != 0 {
		if err := tellEnd(tx, a); err != nil {
			return err
		}
	}
	if a.State != known.State && a.State == compute.AllocationActive {
		return markActive(tx, a)
	}
	return nil
}

// markActive records that an allocation has nodes.
func markActive(tx *core.Tx, a *compute.Allocation) error {
	if err := showScheduled(tx, a, compute.ScheduledActive); err != nil {
		return err
	}
	return engine.AllocationEvent(tx, a, compute.EventAllocationActive, event.SeverityInfo, compute.AllocationPayload{
		SlurmState: a.SlurmState, NodeList: a.NodeList, Reason: "Slurm gave it nodes",
	})
}

// tellEnd updates the end time of the runners of an allocation.
func tellEnd(tx *core.Tx, a *compute.Allocation) error {
	ids, err := core.IDsOf(tx, `SELECT id FROM compute_node WHERE allocation_id = ? AND is_active = 1`, a.ID)
	if err != nil {
		return fmt.Errorf("find the runners of allocation %d: %w", a.ID, err)
	}
	_, err = tx.Exec(`UPDATE compute_node SET end_time = ? WHERE allocation_id = ? AND is_active = 1`, view.Rfc3339(a.LimitMS), a.ID)
	if err != nil {
		return fmt.Errorf("set the end of allocation %d: %w", a.ID, err)
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, ids)
	return nil
}

// recordRestart records that Slurm has restarted an allocation, and returns the restart.
// How the earlier one ended stays open until its accounting record is found.
func recordRestart(tx *core.Tx, a *compute.Allocation, restartCount int64) (next compute.Allocation, err error) {
	next, err = newestRestart(tx, a.IntentID)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return next, fmt.Errorf("find the restarts of intent %s: %w", a.IntentID, err)
	case err == nil && next.RestartCount >= restartCount:
		return next, nil
	}
	if _, err := tx.Exec(`UPDATE allocation SET superseded_ms = ?, absent_ms = 0, over_ms = 0 WHERE id = ? AND superseded_ms = 0`, tx.NowMS, a.ID); err != nil {
		return next, fmt.Errorf("end a restart of allocation %d: %w", a.ID, err)
	}
	id, err := tx.Insert(`INSERT INTO allocation (workflow_id, run_id, intent_id, restart_count, job_name, cluster, slurm_job_id, scheduler_config_id,
			scheduled_compute_node_id, request, why, secret_hash, state, asked_ms, submit_ms, cancel_ms, cancel_why, cancel_sent_ms, cancel_tries)
		SELECT workflow_id, run_id, intent_id, ?2, job_name, cluster, slurm_job_id, scheduler_config_id, scheduled_compute_node_id, request, why,
			secret_hash, 'pending', asked_ms, ?3, cancel_ms, cancel_why, cancel_sent_ms, cancel_tries FROM allocation WHERE id = ?1`, a.ID, restartCount, tx.NowMS)
	if err != nil {
		return next, fmt.Errorf("insert restart %d of allocation %d: %w", restartCount, a.ID, err)
	}
	if next, err = getAllocation(tx, id); err != nil {
		return next, err
	}
	if err := showScheduled(tx, &next, compute.ScheduledPending); err != nil {
		return next, err
	}
	return next, engine.AllocationEvent(tx, &next, compute.EventAllocationRequeued, event.SeverityWarning, compute.AllocationPayload{
		Reason: fmt.Sprintf("Slurm requeued it: restart %d", restartCount),
	})
}
