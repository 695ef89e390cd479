package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ModTime is when a file was changed, in seconds since the epoch; nil if it is
// not there.
func ModTime(path string) (*float64, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, workflow.Errorf(workflow.CodeInvalid, "cannot look at a file of the workflow: %v", err)
	}
	seconds := float64(info.ModTime().UnixNano()) / 1e9
	return &seconds, nil
}
