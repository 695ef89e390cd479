package output

import (
	"os"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// maxMissing is how many missing outputs a report names.
const maxMissing = 10

// Declared says which declared output files of an attempt exist.
type Declared struct {
	Times   []lease.FileTime
	Missing []string // the first of them
	Count   int      // of missing ones
}

// CheckDeclared checks the declared output files. Relative paths start in dir.
func CheckDeclared(files []lease.GrantFile, dir string) Declared {
	var o Declared
	for _, f := range files {
		path := f.Path
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			o.Count++
			if len(o.Missing) < maxMissing {
				o.Missing = append(o.Missing, f.Path)
			}
			continue
		}
		o.Times = append(o.Times, lease.FileTime{FileID: f.ID, ModTime: float64(info.ModTime().UnixNano()) / 1e9})
	}
	return o
}
