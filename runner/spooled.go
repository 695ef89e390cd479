package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/spool"
)

// Spooled is what a runner wrote down and nobody has received.
type Spooled struct {
	RunID   int64
	Reports []api.Report

	paths []string
}

// ReadSpooled returns what a runner of a database left in an output directory.
// The runner may have been on another host; it should be over.
func ReadSpooled(outputDir, database string, runnerID int64) (Spooled, error) {
	var s Spooled
	var failed []error
	for _, dir := range OutputDirs(outputDir, database) {
		files, err := spool.Files(filepath.Join(dir, spoolDir))
		if err != nil {
			failed = append(failed, err)
		}
		for _, path := range files {
			c, err := spool.Read(path)
			var cannotRead *fs.PathError
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue // somebody else has delivered it
			case errors.As(err, &cannotRead):
				failed = append(failed, err)
				continue
			case err != nil:
				continue // no spool file; nothing will ever be read of it
			}
			if h := &c.Header; h.RunnerID == runnerID && (h.Database == database || h.Database == "") {
				s.RunID = h.RunID
				s.Reports = append(s.Reports, c.Pending()...)
				s.paths = append(s.paths, path)
			}
		}
	}
	if len(failed) > 0 {
		return s, fmt.Errorf("read what runner %d wrote down in %s: %w", runnerID, outputDir, errors.Join(failed...))
	}
	return s, nil
}

// Delivered removes the files: everything in them is recorded.
func (s *Spooled) Delivered() error {
	var failed []error
	for _, path := range s.paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
