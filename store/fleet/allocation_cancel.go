package fleet

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// RequestCancel stores that live allocations are to be canceled, and why, before Slurm is
// told. It returns how many had not been requested before.
func (s Allocations) RequestCancel(ctx context.Context, ids []int64, why string) (n int64, err error) {
	err = s.shared.By(ctx).Do("request cancel of allocations", func(tx *core.Tx) (err error) {
		n, err = engine.RequestCancel(tx, `id IN (SELECT value FROM json_each(?))`, sqlite.IDList(ids), why)
		return err
	})
	return n, err
}

// CancelPending requests the cancellation of an allocation that is not needed, unless it is
// known to run: its runner may have claimed jobs since. It reports whether it did.
func (s Allocations) CancelPending(ctx context.Context, id int64, why string) (canceled bool, err error) {
	err = s.shared.By(ctx).Do("request cancel of a pending allocation", func(tx *core.Tx) error {
		n, err := engine.RequestCancel(tx, `state != 'active' AND id = ?`, id, why)
		canceled = n > 0
		return err
	})
	return canceled, err
}

// RecordCancel records that scancel is about to be sent for allocations: for those to be
// canceled, and for those that have ended except in Slurm. It affects whatever restart the
// Slurm job is in by then.
func (s Allocations) RecordCancel(ctx context.Context, ids []int64) error {
	return s.shared.By(ctx).Do("note the cancel of allocations", func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE allocation SET cancel_sent_ms = ?, cancel_tries = cancel_tries + 1
			WHERE (id IN (SELECT value FROM json_each(?2)) OR state IN ('pending', 'active') AND (intent_id, slurm_job_id) IN
				(SELECT intent_id, slurm_job_id FROM allocation WHERE id IN (SELECT value FROM json_each(?2))))
			AND (state = 'ended' OR cancel_ms != 0)`, tx.NowMS, sqlite.IDList(ids))
		return sqlite.Wrap(err, "note the cancel of %d allocations", len(ids))
	})
}
