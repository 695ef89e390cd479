package daemonlink

import (
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
)

// keepInMemory makes a daemon keep its database in memory and write snapshots of it to its
// file.
func keepInMemory(a *cli.Factory, o *server.DaemonOptions) (err error) {
	o.InMemory = true
	o.Snapshots = server.Snapshots{Path: o.Database, Every: time.Duration(a.Flags.SnapshotInterval) * time.Second, AtEnd: true}
	o.Snapshots.Keep, err = a.SnapshotsKept()
	return err
}
