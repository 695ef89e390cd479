package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// ReviewEnds releases end jobs whose runners have left. It costs little if none waits.
func (s Workflows) ReviewEnds(ctx context.Context) error {
	due, err := sqlite.SelectContext(ctx, s.DB.Read, view.ScanID, view.WaitingEnds+` AND NOT EXISTS (SELECT 1 FROM `+view.AwaitedRunners+`)`)
	if err != nil {
		return fmt.Errorf("find the end jobs that wait: %w", err)
	}
	for _, id := range slices.Compact(due) {
		err := s.shared.Do("review an end job", func(tx *core.Tx) error { return engine.EndIfOver(tx, id) })
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound { // it was deleted meanwhile
			return fmt.Errorf("review the end job of workflow %d: %w", id, err)
		}
	}
	return nil
}
