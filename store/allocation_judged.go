package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Judged is what a judgment of an allocation rests on: its record, and the runners
// that lived in it. Slurm was asked since, and that takes its time.
type Judged struct {
	Allocation workflow.Allocation
	Runners    []AllocationRunner
}

// EndJudged is EndAllocation on the ground of a judgment. It is false, and changes
// nothing, if the allocation has become another one since: it is to be judged anew.
func (s *Store) EndJudged(_ context.Context, on Judged, end workflow.AllocationEnd) (ended bool, err error) {
	err = s.writer.do("end allocation", func(tx *Tx) error {
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
		if ended, err = tx.stands(&on, &a); err != nil || !ended {
			return err
		}
		return tx.endAllocation(&a, end)
	})
	return ended, err
}

// CancelJudged is RequestCancel on the ground of a judgment: nothing if the
// allocation has become another one since. Refusal, if not empty, is the class of
// Slurm's no to what it took and will never start.
func (s *Store) CancelJudged(_ context.Context, on Judged, why, refusal string) error {
	return s.writer.do("request cancel of a judged allocation", func(tx *Tx) error {
		a, err := getAllocation(tx, on.Allocation.ID)
		if workflow.CodeOf(err) == workflow.CodeNotFound {
			return nil // deleted with its workflow
		}
		if err != nil {
			return err
		}
		if stands, err := tx.stands(&on, &a); err != nil || !stands {
			return err
		}
		n, err := tx.requestCancel(`id = ?`, a.ID, why)
		if err != nil || n == 0 || refusal == "" {
			return err
		}
		if err := tx.execOne(`UPDATE allocation SET refusal = ? WHERE id = ?`, refusal, a.ID); err != nil {
			return fmt.Errorf("record the refusal of allocation %d: %w", a.ID, err)
		}
		return nil
	})
}

// stands reports whether what a judgment rests on still holds: sbatch has not
// answered since, no other life has begun, and no other runner has come.
func (tx *Tx) stands(on *Judged, now *workflow.Allocation) (bool, error) {
	was := &on.Allocation
	if now.SlurmJobID != was.SlurmJobID || now.AskedMS != was.AskedMS || now.SupersededMS != was.SupersededMS {
		return false, nil
	}
	known := make([]int64, len(on.Runners))
	for i, r := range on.Runners {
		known[i] = r.RunnerID
	}
	var others bool
	err := tx.row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE allocation_id = ? AND is_active = 1 AND id NOT IN (SELECT value FROM json_each(?)))`,
		[]any{now.ID, idList(known)}, &others)
	if err != nil {
		return false, fmt.Errorf("look for runners of allocation %d: %w", now.ID, err)
	}
	return !others, nil
}
