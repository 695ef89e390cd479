package server

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Snapshots configure where a daemon writes snapshots of its database, and when it does
// so by itself.
type Snapshots struct {
	Path string
	// Keep is how many there are at most: Path, Path.1 and so on; 1 if zero.
	Keep  int
	Every time.Duration // 0: only when asked
	AtEnd bool          // a last one when the daemon stops
}

// Snapshot writes a snapshot of the database to the configured path.
func (d *Daemon) Snapshot(ctx context.Context) error {
	to := d.o.Snapshots
	if to.Path == "" {
		return workflow.Errorf(workflow.CodeInvalid, "no path for snapshots is given")
	}
	start := time.Now()
	if err := d.store.Snapshot(ctx, to.Path, max(to.Keep, 1)); err != nil {
		return err
	}
	d.o.Log.Info("wrote a snapshot", "path", to.Path, "took", time.Since(start))
	return nil
}

// snapshotEvery writes snapshots until ctx ends. If one fails, it logs that and tries the
// next one.
func (d *Daemon) snapshotEvery(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := d.Snapshot(ctx); err != nil && ctx.Err() == nil {
			d.o.Log.Error("cannot write a snapshot", "path", d.o.Snapshots.Path, "error", err)
		}
	}
}
