package runner

import (
	"os"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/api"
)

// maxMissing is how many missing outputs a report names.
const maxMissing = 10

// outputs is what became of an attempt's declared output files.
type outputs struct {
	times   []api.FileTime
	missing []string // the first of them
	count   int      // of missing ones
}

// checkOutputs looks at the declared output files; relative paths start in dir.
func checkOutputs(files []api.GrantFile, dir string) outputs {
	var o outputs
	for _, f := range files {
		path := f.Path
		if dir != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			o.count++
			if len(o.missing) < maxMissing {
				o.missing = append(o.missing, f.Path)
			}
			continue
		}
		o.times = append(o.times, api.FileTime{FileID: f.ID, ModTime: float64(info.ModTime().UnixNano()) / 1e9})
	}
	return o
}
