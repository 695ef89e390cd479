// Package outputdir finds, creates and claims the output directories of runners, and opens the
// logs in them.
package outputdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Make creates the output directory if it does not exist. It returns a WriteError if that
// fails, or files cannot be created in it.
func Make(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return WriteError(dir, err)
	}
	return nil
}

// WriteError returns the error that nothing can be written to an output directory, because of
// err.
func WriteError(dir string, err error) error {
	return workflow.Errorf(workflow.CodeForbidden, "cannot write to the output directory %s: %v", dir, err).
		WithHint("choose another one with --output-dir")
}

// RunnerLog opens the log of a runner in its output directory for appending. It creates both
// if necessary, and returns a WriteError if it cannot.
func RunnerLog(outputDir, host string, workflowID, runID int64) (*os.File, error) {
	if err := Make(outputDir); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("job_runner_%s_wf%d_r%d.log", host, workflowID, runID)
	f, err := trustedfile.Append(filepath.Join(outputDir, name), 0o666)
	if err != nil {
		return nil, WriteError(outputDir, err)
	}
	return f, nil
}

// SubmissionDir returns the folder where a workflow was submitted, or the current one if none
// is recorded. It returns a conflict if this host does not have that folder.
func SubmissionDir(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (string, error) {
	w, err := c.Workflows.Get(ctx, id)
	if err != nil {
		return "", err
	}
	dir := cli.OrEmpty(w.SubmissionDirectory)
	if !filepath.IsAbs(dir) {
		return a.Dir, nil
	}
	if here, err := filepath.EvalSymlinks(a.Dir); err == nil {
		if there, err := filepath.EvalSymlinks(dir); err == nil && here == there {
			return a.Dir, nil
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", workflow.Errorf(workflow.CodeConflict, "the jobs of workflow %d run in %s, where it was submitted, but this host does not have that folder", id, dir).
			WithHint("run the command on a host that has the folder, or create it again")
	}
	return dir, nil
}
