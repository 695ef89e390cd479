package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/server"
)

// defaultSnapshots is how many snapshots of a database are kept.
const defaultSnapshots = 5

// addStandaloneFlags adds the flags that go with --standalone.
func addStandaloneFlags(flags *pflag.FlagSet, f *globalFlags) {
	flags.BoolVar(&f.inMemory, "in-memory", false, "with -s, for run and exec: keep the database in memory; its file is read at the start and replaced at the end")
	flags.Int64Var(&f.snapshotInterval, "snapshot-interval-seconds", 0, "with --in-memory: replace the file every `N` seconds, too")
	flags.String("torc-server-bin", "", "accepted for compatibility: the server is this program")
	_ = flags.MarkHidden("torc-server-bin")
}

// checkInMemory refuses flags that do not go together.
func (a *app) checkInMemory(c *cobra.Command) error {
	interval := c.Flags().Changed("snapshot-interval-seconds")
	switch {
	case interval && !a.flags.inMemory:
		return usageErrorf("--snapshot-interval-seconds is about --in-memory; add it")
	case interval && a.flags.snapshotInterval < 1:
		return usageErrorf("--snapshot-interval-seconds %d: it is 1 or more", a.flags.snapshotInterval)
	case !a.flags.inMemory:
		return nil
	case !a.flags.standalone:
		return usageErrorf("--in-memory is about the database of --standalone; add -s")
	case c.Name() != "run" && c.Name() != "exec":
		return usageErrorf("--in-memory is for run and exec: %s would find nothing, and leave nothing behind", c.Name())
	}
	_, err := a.snapshotsKept()
	return err
}

// snapshotsKept is how many snapshots are kept.
func (a *app) snapshotsKept() (int, error) {
	const name = "TORC_SERVER_SNAPSHOT_KEEP"
	text := a.getenv(name)
	if text == "" {
		return defaultSnapshots, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, usageErrorf("%s: %q is not a whole number from 1", name, text)
	}
	return n, nil
}

// keepInMemory makes a daemon keep its database in memory, and snapshots of it
// in its file.
func (a *app) keepInMemory(o *server.DaemonOptions) (err error) {
	o.InMemory = true
	o.Snapshots = server.Snapshots{Path: o.Database, Every: time.Duration(a.flags.snapshotInterval) * time.Second, AtEnd: true}
	o.Snapshots.Keep, err = a.snapshotsKept()
	return err
}
