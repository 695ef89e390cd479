package fleet

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func getAllocation(tx *core.Tx, id int64) (compute.Allocation, error) {
	return core.GetOne(tx, "allocation", id, `SELECT `+view.AllocationColumns+` FROM allocation WHERE id = ?`, view.ScanAllocation)
}

// showScheduled sets an allocation's status in the table that torc's clients read.
func showScheduled(tx *core.Tx, a *compute.Allocation, status string) error {
	if a.ScheduledComputeNodeID == 0 {
		return nil
	}
	// A client may have deleted the row.
	_, err := tx.Exec(`UPDATE scheduled_compute_node SET status = ? WHERE id = ? AND status != ?`, status, a.ScheduledComputeNodeID, status)
	return sqlite.Wrap(err, "show allocation %d as %s", a.ID, status)
}

// newestRestart returns the newest restart of an intent; sql.ErrNoRows if there is
// none.
func newestRestart(tx *core.Tx, intentID string) (compute.Allocation, error) {
	stmt, err := tx.Stmt(`SELECT ` + view.AllocationColumns + ` FROM allocation WHERE intent_id = ? AND is_duplicate = 0 ORDER BY restart_count DESC LIMIT 1`)
	if err != nil {
		return compute.Allocation{}, err
	}
	return view.ScanAllocation(stmt.QueryRowContext(context.Background(), intentID))
}

// Shorten stores the walltime in seconds that a pending allocation has now.
func (s Allocations) Shorten(_ context.Context, id, seconds int64) error {
	return s.shared.Do("shorten allocation", func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE allocation SET request = json_set(request, '$.walltime_s', ?) WHERE id = ? AND state = 'pending'`, seconds, id)
		return sqlite.Wrap(err, "shorten allocation %d", id)
	})
}

// Widen records that Slurm may start a pending allocation in any of several partitions,
// separated by commas.
func (s Allocations) Widen(_ context.Context, id int64, partitions string) error {
	return s.shared.Do("widen allocation", func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE allocation SET request = json_set(request, '$.partition', ?) WHERE id = ? AND state = 'pending'`, partitions, id)
		return sqlite.Wrap(err, "widen allocation %d", id)
	})
}
