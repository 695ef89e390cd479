package store

import (
	"errors"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// What was read in a part of a use case that is undone is not cached.
func TestWhatIsUndoneIsForgotten(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.do(func(tx *core.Tx) error {
		run, err := core.LoadRun(tx, r.workflow)
		if err != nil {
			return err
		}
		refused := errors.New("refused")
		err = tx.Savepoint(func() error {
			b := workflow.CircuitBreaker{Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerPause}
			trip := b.NewTrip("", nil, 1, tx.NowMS)
			trip.WorkflowID, trip.RunID = r.workflow, 1
			if err := engine.OpenBreaker(tx, run, trip); err != nil {
				return err
			}
			if open, err := engine.OpenTrips(tx); err != nil || len(open) != 1 {
				t.Errorf("open: %v, %v", open, err)
			}
			return refused
		})
		if !errors.Is(err, refused) {
			return err
		}
		if open, err := engine.OpenTrips(tx); err != nil || len(open) != 0 {
			t.Errorf("open afterwards: %v, %v", open, err)
		}
		return nil
	})
}
