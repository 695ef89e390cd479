package outputdir

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/output"
)

// List returns the directories in which runners of the server's database have written, at and
// below the named output directory, or the configured one if named is empty.
func List(ctx context.Context, a *cli.Factory, c *cli.Connection, named string) ([]string, error) {
	database, err := Database(ctx, c)
	if err != nil {
		return nil, err
	}
	return output.Dirs(a.Path(cli.FirstOf(named, a.Config.Client.Run.OutputDir)), database), nil
}

// Under returns the folders that can be the output directory that is in a folder, or is that
// folder.
func Under(a *cli.Factory, base string) []string {
	return []string{a.Path(base), filepath.Join(a.Path(base), cli.FirstOf(a.Config.Client.Run.OutputDir, "torc_output"))}
}

// Database returns the name of the server's database; empty if the server does not report it.
func Database(ctx context.Context, c *cli.Connection) (string, error) {
	info, err := c.Version(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the server for the name of its database: %w", err)
	}
	return info.Database, nil
}

// Claim claims the output directory of a runner for the server's database, until release is
// called. It may change the directory in the options.
func Claim(ctx context.Context, a *cli.Factory, c *cli.Connection, o *runner.Options) (release func(), err error) {
	database, err := Database(ctx, c)
	if err != nil {
		return nil, err
	}
	return ClaimFor(a, database, o)
}

// ClaimFor is like Claim for a database whose name is known.
func ClaimFor(a *cli.Factory, database string, o *runner.Options) (release func(), err error) {
	dir, err := output.Claim(o.OutputDir, database, a.Log)
	if err != nil {
		return nil, err
	}
	if dir.Notice != "" {
		a.Note("%s", dir.Notice)
	}
	o.OutputDir, o.OtherDirs, o.Database = dir.Path, dir.Others, database
	o.RestoreOutput = func() error { return dir.Restore(database) }
	return func() {
		if err := dir.Release(); err != nil {
			a.Log.Warn("cannot release the output directory", "path", dir.Path, "error", err)
		}
	}, nil
}

// SkipAside returns fs.SkipDir for a directory that was put aside in the output directory dir,
// whose files belong to other databases. fs.WalkDirFuncs call it.
func SkipAside(dir, path string, entry fs.DirEntry) error {
	if entry.IsDir() && filepath.Dir(path) == filepath.Clean(dir) && output.IsPutAside(entry.Name()) {
		return fs.SkipDir
	}
	return nil
}
