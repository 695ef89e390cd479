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

// Spooled is what one runner has written to its spool and not delivered.
type Spooled struct {
	spool.Header
	Reports []lease.Report
	Started []lease.Held // and not reported
	path    string
}

// ReadSpooled returns the undelivered spools of a database in an output directory whose
// headers are wanted. Their runners should have ended; they may have been on other
// hosts. With an error it also returns the spools that could be read.
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
				continue // another runner has delivered it
			case errors.As(err, &cannotRead):
				failed = append(failed, err)
				continue
			case err != nil:
				continue // not a spool file
			}
			if h := &c.Header; (h.Database == database || h.Database == "") && wanted(h) {
				all = append(all, Spooled{Header: *h, Reports: c.Pending(), Started: c.Unreported(), path: path})
			}
		}
	}
	if len(failed) > 0 {
		return all, fmt.Errorf("read the spools in %s: %w", outputDir, errors.Join(failed...))
	}
	return all, nil
}

// Delivered removes the file, since everything in it is recorded, unless its writer is
// alive.
func (s *Spooled) Delivered() error { return spool.Remove(s.path) }
