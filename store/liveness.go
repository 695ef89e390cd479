package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
)

// ReturnUnstarted makes jobs ready again that a torc client claimed before a time (in ms)
// and never started, because the answer was lost or the client is gone. It returns how many
// there were.
func (s Jobs) ReturnUnstarted(_ context.Context, claimedBeforeMS int64) (n int64, err error) {
	err = s.shared.Do("return unstarted jobs", func(tx *core.Tx) error {
		n = 0
		returned, err := engine.ReturnJobs(tx, claimedBeforeMS)
		if err != nil {
			return fmt.Errorf("return unstarted jobs: %w", err)
		}
		for workflowID, jobs := range returned {
			n += int64(len(jobs))
			if err := engine.BlockAgain(tx, workflowID, jobs); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
