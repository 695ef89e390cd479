package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
)

// ReviewCompensations starts compensations whose runners have left, and ends those past
// their deadline. It costs little if there are none.
func (s Workflows) ReviewCompensations(ctx context.Context) error {
	open, err := s.OpenCompensations(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	return s.shared.Do("review compensations", func(tx *core.Tx) error {
		for _, id := range open {
			if err := engine.ReviewCompensation(tx, id); err != nil {
				return fmt.Errorf("review the compensation of workflow %d: %w", id, err)
			}
		}
		return nil
	})
}
