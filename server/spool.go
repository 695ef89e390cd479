package server

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Spooled is what one process of a runner wrote to its spool before it ended.
type Spooled struct {
	RunID     int64
	Reports   []lease.Report
	Started   []lease.Held // and not reported
	Delivered func() error // removes it
}

// spoolOf delivers the spools of runners that have ended.
type spoolOf struct {
	store *store.Store
	read  func(outputDir, database string, runnerID int64) ([]Spooled, error) // nil if that is not possible
}

// Deliver stores the reports that these runners left behind.
func (s spoolOf) Deliver(ctx context.Context, runners []store.AllocationRunner) error {
	if s.read == nil {
		return nil
	}
	database, err := s.store.Identity(ctx, rand.Text())
	if err != nil {
		return err
	}
	for _, r := range runners {
		lives, err := s.read(r.OutputDir, database, r.RunnerID)
		if err != nil {
			return err
		}
		for _, left := range lives {
			// Nothing is granted to a turn that precedes all others.
			_, err := s.store.Runners.Turn(ctx, r.RunnerID, lease.TurnRequest{RunID: left.RunID, Reports: left.Reports, Started: left.Started})
			if err != nil {
				return fmt.Errorf("store the spool of runner %d: %w", r.RunnerID, err)
			}
			if err := left.Delivered(); err != nil {
				return fmt.Errorf("remove the spool of runner %d: %w", r.RunnerID, err)
			}
		}
	}
	return nil
}
