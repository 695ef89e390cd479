package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/runner"
)

// outputDirs are where runners of the server's database have written, under the
// output directory that was named.
func (a *app) outputDirs(ctx context.Context, c *connection, named string) ([]string, error) {
	database, err := c.database(ctx)
	if err != nil {
		return nil, err
	}
	return runner.OutputDirs(a.path(firstOf(named, a.config.Client.Run.OutputDir)), database), nil
}

// database is the name of the server's database; empty if it does not say.
func (c *connection) database(ctx context.Context) (string, error) {
	info, err := c.Version(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the server for the name of its database: %w", err)
	}
	return info.Database, nil
}

// claimOutputDir makes the output directory of a runner the one of the server's
// database, until release.
func (a *app) claimOutputDir(ctx context.Context, c *connection, o *runner.Options) (release func(), err error) {
	database, err := c.database(ctx)
	if err != nil {
		return nil, err
	}
	return a.claimOutputDirFor(database, o)
}

// claimOutputDirFor is claimOutputDir for a database whose name is known.
func (a *app) claimOutputDirFor(database string, o *runner.Options) (release func(), err error) {
	dir, err := runner.ClaimOutputDir(o.OutputDir, database, a.log)
	if err != nil {
		return nil, err
	}
	if dir.Notice != "" {
		a.note("%s", dir.Notice)
	}
	o.OutputDir, o.OtherDirs, o.Database = dir.Path, dir.Others, database
	o.RestoreOutput = func() error { return dir.Restore(database) }
	return func() {
		if err := dir.Release(); err != nil {
			a.log.Warn("release the output directory", "path", dir.Path, "error", err)
		}
	}, nil
}

// skipAside has a walk through an output directory pass over what was put aside
// in it: those are files of other databases.
func skipAside(dir, path string, entry fs.DirEntry) error {
	if entry.IsDir() && filepath.Dir(path) == filepath.Clean(dir) && runner.IsPutAside(entry.Name()) {
		return fs.SkipDir
	}
	return nil
}
