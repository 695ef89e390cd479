package fleet

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Judged is what a judgment of an allocation rests on: its record and its runners. Both may
// have changed while Slurm was polled.
type Judged struct {
	Allocation compute.Allocation
	Runners    []view.AllocationRunner
}

// EndJudged is End, if the judgment still holds. It returns false and changes nothing if
// the allocation has changed and must be judged again.
func (s Allocations) EndJudged(_ context.Context, on Judged, end compute.AllocationEnd) (ended bool, err error) {
	err = s.shared.Do("end allocation", func(tx *core.Tx) error {
		a, err := getAllocation(tx, on.Allocation.ID)
		if ended = workflow.CodeOf(err) == workflow.CodeNotFound; ended {
			return nil // deleted with its workflow
		}
		if err != nil {
			return err
		}
		if ended = !a.IsLive(); ended {
			return nil
		}
		if ended, err = judgmentHolds(tx, &on, &a); err != nil || !ended {
			return err
		}
		return endAllocation(tx, &a, end)
	})
	return ended, err
}

// CancelJudged is RequestCancel, if the judgment still holds. A refusal that is not empty
// is the class of the reason for which Slurm never starts the job.
func (s Allocations) CancelJudged(_ context.Context, on Judged, why, refusal string) error {
	return s.shared.Do("request cancel of a judged allocation", func(tx *core.Tx) error {
		a, err := getAllocation(tx, on.Allocation.ID)
		if workflow.CodeOf(err) == workflow.CodeNotFound {
			return nil // deleted with its workflow
		}
		if err != nil {
			return err
		}
		if stands, err := judgmentHolds(tx, &on, &a); err != nil || !stands {
			return err
		}
		n, err := engine.RequestCancel(tx, `id = ?`, a.ID, why)
		if err != nil || n == 0 || refusal == "" {
			return err
		}
		err = tx.ExecOne(`UPDATE allocation SET refusal = ? WHERE id = ?`, refusal, a.ID)
		return sqlite.Wrap(err, "record the refusal of allocation %d", a.ID)
	})
}

// judgmentHolds reports whether the facts of a judgment are current: sbatch has not
// answered since, there was no restart, and no other runner has registered.
func judgmentHolds(tx *core.Tx, on *Judged, now *compute.Allocation) (bool, error) {
	was := &on.Allocation
	if now.SlurmJobID != was.SlurmJobID || now.AskedMS != was.AskedMS || now.SupersededMS != was.SupersededMS {
		return false, nil
	}
	known := make([]int64, len(on.Runners))
	for i, r := range on.Runners {
		known[i] = r.RunnerID
	}
	var others bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE allocation_id = ? AND is_active = 1 AND id NOT IN (SELECT value FROM json_each(?)))`,
		[]any{now.ID, sqlite.IDList(known)}, &others)
	if err != nil {
		return false, fmt.Errorf("find runners of allocation %d: %w", now.ID, err)
	}
	return !others, nil
}
