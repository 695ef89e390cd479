package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Spooled is what one life of a runner wrote down and nobody has received.
type Spooled struct {
	spool.Header
	Reports []lease.Report
	Started []lease.Held // and not reported
	path    string
}

// ReadSpooled returns what runners of a database left in an output directory,
// of those that are wanted. They may have been on other hosts; they should be
// over.
func ReadSpooled(outputDir, database string, wanted func(*spool.Header) bool) ([]Spooled, error) {
	var all []Spooled
	var failed []error
	for _, dir := range output.Dirs(outputDir, database) {
		files, err := spool.Files(filepath.Join(dir, output.SpoolDir))
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
			if h := &c.Header; (h.Database == database || h.Database == "") && wanted(h) {
				all = append(all, Spooled{Header: *h, Reports: c.Pending(), Started: c.Unreported(), path: path})
			}
		}
	}
	if len(failed) > 0 {
		return all, fmt.Errorf("read what runners wrote down in %s: %w", outputDir, errors.Join(failed...))
	}
	return all, nil
}

// Delivered removes the file, unless its writer lives: everything in it is
// recorded.
func (s *Spooled) Delivered() error { return spool.Remove(s.path) }
