package store

import (
	"errors"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// What was read in a part of a use case that is undone is not kept.
func TestWhatIsUndoneIsForgotten(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.do(func(tx *Tx) error {
		run, err := tx.run(r.workflow)
		if err != nil {
			return err
		}
		refused := errors.New("refused")
		err = tx.savepoint(func() error {
			b := workflow.CircuitBreaker{Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerPause}
			trip := b.NewTrip("", nil, 1, tx.nowMS)
			trip.WorkflowID, trip.RunID = r.workflow, 1
			if err := tx.openBreaker(run, trip); err != nil {
				return err
			}
			if open, err := tx.openTrips(); err != nil || len(open) != 1 {
				t.Errorf("open: %v, %v", open, err)
			}
			return refused
		})
		if !errors.Is(err, refused) {
			return err
		}
		if open, err := tx.openTrips(); err != nil || len(open) != 0 {
			t.Errorf("open afterwards: %v, %v", open, err)
		}
		return nil
	})
}
