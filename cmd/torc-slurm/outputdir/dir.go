// Package outputdir finds, makes and claims the output directories of runners, and
// writes the logs in them.
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

// Make makes the output directory and checks that it can be written
// into.
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

// WriteError says that an output directory cannot be written into.
func WriteError(dir string, err error) error {
	return workflow.Errorf(workflow.CodeForbidden, "cannot write into the output directory %s: %v", dir, err).
		WithHint("choose another one with --output-dir")
}

// RunnerLog opens the log of a runner in its output directory.
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

// SubmissionDir is the folder where a workflow was submitted; the current one if
// none is recorded. It is an error if this host has no such folder.
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
		return "", workflow.Errorf(workflow.CodeConflict, "the jobs of workflow %d run in %s, where it was submitted, and this host has no such folder", id, dir).
			WithHint("work on a host that has it, or make it again")
	}
	return dir, nil
}
