package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// begin begins the run that a workflow waits for whose status is this, and reports
// whether it did: a run that somebody else has begun meanwhile stands. A run that a
// reset has begun, and in which nothing has run yet, is taken. If some jobs are
// complete, only those that are not initialised take part, and what depends on
// them.
func (a *app) begin(ctx context.Context, c *connection, status *api.WorkflowStatus, onlyUninitialized bool) (bool, error) {
	filter := client.ResultFilter{WorkflowID: status.WorkflowID, RunID: &status.RunID, AllRuns: true, Page: client.Page{Limit: 1}}
	results, err := client.Collect(c.Results(ctx, filter))
	if err != nil {
		return false, err
	}
	if len(results) > 0 { // they may be of the run that somebody has begun
		if has, err := a.hasBegun(ctx, c, status); has || err != nil {
			return false, err
		}
	}
	err = c.beginAt(ctx, status, status.RunID == 0 || len(results) > 0, onlyUninitialized)
	var refusal *client.APIError
	if errors.As(err, &refusal) {
		if has, lookErr := a.hasBegun(ctx, c, status); has && lookErr == nil {
			return false, nil
		}
	}
	return err == nil, err
}

// beginAt initialises a workflow, in a new run or in the one that it is at, if it
// is still at that one and waits for it.
func (c *connection) beginAt(ctx context.Context, status *api.WorkflowStatus, newRun, onlyUninitialized bool) error {
	id, runID := status.WorkflowID, status.RunID
	if newRun {
		w, err := c.ResetStatusAt(ctx, id, runID, false)
		if err != nil {
			return fmt.Errorf("start workflow %d: %w", id, err)
		}
		runID = idOf(w.RunID)
	}
	if err := c.InitializeAt(ctx, id, runID, onlyUninitialized); err != nil {
		return fmt.Errorf("start workflow %d: %w", id, err)
	}
	return nil
}

// hasBegun reports whether a workflow that waited for a run when its status was
// this has been begun since.
func (a *app) hasBegun(ctx context.Context, c *connection, status *api.WorkflowStatus) (bool, error) {
	now, err := c.WorkflowStatus(ctx, status.WorkflowID)
	if err != nil || now.RunID == status.RunID && now.JobsByStatus.Uninitialized > 0 {
		return false, err
	}
	a.note("Run %d of workflow %d has been begun meanwhile.", now.RunID, status.WorkflowID)
	return true, nil
}

// beginNew begins the first run of a workflow that was just created.
func (a *app) beginNew(ctx context.Context, c *connection, id int64) error {
	_, err := a.begin(ctx, c, &api.WorkflowStatus{WorkflowID: id}, false)
	return err
}

// continueWorkflow goes on with an existing workflow.
func (a *app) continueWorkflow(ctx context.Context, c *connection, id int64, options runner.Options, flags runFlags) error {
	status, err := c.WorkflowStatus(ctx, id)
	if err != nil {
		return err
	}
	counts := status.JobsByStatus
	switch {
	case status.TotalJobs == 0:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has no jobs", id)
	case status.Compensation != nil && !status.Compensation.State.IsOver():
		a.note("Going on with the compensation of workflow %d", id)
		return a.work(ctx, c, id, options, flags)
	case status.IsCanceled:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled", id).
			WithHint("`%s reset --failed-only %d` makes it runnable again", a.prefix(), id)
	case counts.Uninitialized > 0:
		if err := a.checkStoredInputs(ctx, c, id); err != nil {
			return err
		}
		all := counts.Uninitialized+counts.Disabled == status.TotalJobs
		if begun, err := a.begin(ctx, c, status, !all); err != nil {
			return err
		} else if !begun {
			return a.continueWorkflow(ctx, c, id, options, flags)
		}
	case countDone(counts) == status.TotalJobs:
		a.note("Workflow %d has ended; `%s reset %d` makes it runnable again.", id, a.prefix(), id)
		return a.reportEnd(ctx, c, id, newProgress(id, status.WorkflowName, a.Now()), runner.Summary{Complete: true}, flags)
	}
	a.note("Going on with workflow %d", id)
	return a.work(ctx, c, id, options, flags)
}

// checkInputs looks for the files that jobs read and no job writes.
func (a *app) checkInputs(d *workflow.Definition) error {
	written := make([]bool, len(d.Files))
	read := make([]bool, len(d.Files))
	for i := range d.Jobs {
		for _, f := range d.Jobs[i].OutputFiles {
			written[f] = true
		}
		for _, f := range d.Jobs[i].InputFiles {
			read[f] = true
		}
	}
	var missing []string
	for i, f := range d.Files {
		if read[i] && !written[i] && !a.exists(f.Path) {
			missing = append(missing, f.Path)
		}
	}
	return missingFiles(missing)
}

// checkStoredInputs is checkInputs for a workflow that exists: the outputs of
// completed jobs must be there as well.
func (a *app) checkStoredInputs(ctx context.Context, c *connection, id int64) error {
	required, err := c.RequiredExistingFiles(ctx, id)
	if err != nil || len(required) == 0 {
		return err
	}
	dir, err := a.submissionDir(ctx, c, id)
	if err != nil {
		return err
	}
	files, err := client.Collect(c.Files(ctx, client.FileFilter{WorkflowID: id}))
	if err != nil {
		return err
	}
	byID := make(map[int64]api.File, len(files))
	for _, f := range files {
		byID[*f.ID] = f
	}
	var missing []string
	for _, fileID := range required {
		if f, ok := byID[fileID]; ok && !a.exists(pathIn(dir, f.Path)) {
			missing = append(missing, f.Path)
		}
	}
	return missingFiles(missing)
}

func missingFiles(paths []string) error {
	const shown = 10
	if len(paths) == 0 {
		return nil
	}
	text := strings.Join(paths[:min(shown, len(paths))], ", ")
	if more := len(paths) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return workflow.Errorf(workflow.CodeConflict, "jobs read files that are not there: %s", text).
		WithHint("no job is left that would write them; paths count from the folder where the workflow was submitted")
}

// exists reports whether there is a file; one that cannot be looked at counts.
func (a *app) exists(path string) bool {
	_, err := os.Stat(a.path(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// makeOutputDir makes the output directory and checks that it can be written
// into.
func makeOutputDir(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return outputDirError(dir, err)
	}
	return nil
}

// runnerLog opens the log of a runner in its output directory.
func runnerLog(outputDir, host string, workflowID, runID int64) (*os.File, error) {
	if err := makeOutputDir(outputDir); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("job_runner_%s_wf%d_r%d.log", host, workflowID, runID)
	f, err := trustedfile.Append(filepath.Join(outputDir, name), 0o666)
	if err != nil {
		return nil, outputDirError(outputDir, err)
	}
	return f, nil
}

func outputDirError(dir string, err error) error {
	return workflow.Errorf(workflow.CodeForbidden, "cannot write into the output directory %s: %v", dir, err).
		WithHint("choose another one with --output-dir")
}
