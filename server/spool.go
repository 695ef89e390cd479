package server

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
)

// Spooled is what one life of a runner wrote down before it was over.
type Spooled struct {
	RunID     int64
	Reports   []api.Report
	Started   []api.Held   // and not reported
	Delivered func() error // removes it
}

// spoolOf delivers what runners that are over left in writing.
type spoolOf struct {
	store *store.Store
	read  func(outputDir, database string, runnerID int64) ([]Spooled, error) // nil: nobody can
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
			// A turn before all others is granted nothing.
			said := fromTurn(r.RunnerID, &api.TurnRequest{RunID: left.RunID, Reports: left.Reports, Started: left.Started})
			if _, err := s.store.Turn(ctx, said); err != nil {
				return fmt.Errorf("store what runner %d wrote down: %w", r.RunnerID, err)
			}
			if err := left.Delivered(); err != nil {
				return fmt.Errorf("remove what runner %d wrote down: %w", r.RunnerID, err)
			}
		}
	}
	return nil
}
