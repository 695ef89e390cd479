package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ModTime returns the modification time of a file in seconds since the epoch; nil if it
// does not exist.
func ModTime(path string) (*float64, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, workflow.Errorf(workflow.CodeInvalid, "cannot read a file of the workflow: %v", err)
	}
	seconds := float64(info.ModTime().UnixNano()) / 1e9
	return &seconds, nil
}
