package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
)

// LookAfterCompensations lets compensations begin whose runners are gone, and ends
// those that have taken too long. It is cheap while there are none.
func (s Workflows) LookAfterCompensations(ctx context.Context) error {
	open, err := s.OpenCompensations(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	return s.shared.Do("look after compensations", func(tx *core.Tx) error {
		for _, id := range open {
			if err := engine.ReviewCompensation(tx, id); err != nil {
				return fmt.Errorf("look after the compensation of workflow %d: %w", id, err)
			}
		}
		return nil
	})
}
