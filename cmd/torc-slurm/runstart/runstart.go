// Package runstart begins the runs of workflows, once the files that their jobs read
// are there.
package runstart

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Begin begins the run that a workflow waits for whose status is this, and reports
// whether it did: a run that somebody else has begun meanwhile stands. A run that a
// reset has begun, and in which nothing has run yet, is taken. If some jobs are
// complete, only those that are not initialised take part, and what depends on
// them.
func Begin(ctx context.Context, a *cli.Factory, c *cli.Connection, status *api.WorkflowStatus, onlyUninitialized bool) (bool, error) {
	filter := client.ResultFilter{WorkflowID: status.WorkflowID, RunID: &status.RunID, AllRuns: true, Page: client.Page{Limit: 1}}
	results, err := client.Collect(c.Results.List(ctx, filter))
	if err != nil {
		return false, err
	}
	if len(results) > 0 { // they may be of the run that somebody has begun
		if has, err := hasBegun(ctx, a, c, status); has || err != nil {
			return false, err
		}
	}
	err = beginRunAt(ctx, c, status, status.RunID == 0 || len(results) > 0, onlyUninitialized)
	var refusal *client.APIError
	if errors.As(err, &refusal) {
		if has, lookErr := hasBegun(ctx, a, c, status); has && lookErr == nil {
			return false, nil
		}
	}
	return err == nil, err
}

// beginRunAt initialises a workflow, in a new run or in the one that it is at, if it
// is still at that one and waits for it.
func beginRunAt(ctx context.Context, c *cli.Connection, status *api.WorkflowStatus, newRun, onlyUninitialized bool) error {
	id, runID := status.WorkflowID, status.RunID
	if newRun {
		w, err := c.Workflows.ResetStatusAt(ctx, id, runID, false)
		if err != nil {
			return fmt.Errorf("start workflow %d: %w", id, err)
		}
		runID = cli.OrZero(w.RunID)
	}
	if err := c.Workflows.InitializeAt(ctx, id, runID, onlyUninitialized); err != nil {
		return fmt.Errorf("start workflow %d: %w", id, err)
	}
	return nil
}

// hasBegun reports whether a workflow that waited for a run when its status was
// this has been begun since.
func hasBegun(ctx context.Context, a *cli.Factory, c *cli.Connection, status *api.WorkflowStatus) (bool, error) {
	now, err := c.Workflows.Status(ctx, status.WorkflowID)
	if err != nil || now.RunID == status.RunID && now.JobsByStatus.Uninitialized > 0 {
		return false, err
	}
	a.Note("Run %d of workflow %d has been begun meanwhile.", now.RunID, status.WorkflowID)
	return true, nil
}

// BeginNew begins the first run of a workflow that was just created.
func BeginNew(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) error {
	_, err := Begin(ctx, a, c, &api.WorkflowStatus{WorkflowID: id}, false)
	return err
}

// CheckInputs looks for the files that jobs read and no job writes.
func CheckInputs(a *cli.Factory, d *workflow.Definition) error {
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
		if read[i] && !written[i] && !cli.Exists(a, f.Path) {
			missing = append(missing, f.Path)
		}
	}
	return missingFiles(missing)
}

// CheckStoredInputs is CheckInputs for a workflow that exists: the outputs of
// completed jobs must be there as well.
func CheckStoredInputs(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) error {
	required, err := c.Files.RequiredExisting(ctx, id)
	if err != nil || len(required) == 0 {
		return err
	}
	dir, err := outputdir.SubmissionDir(ctx, a, c, id)
	if err != nil {
		return err
	}
	files, err := client.Collect(c.Files.List(ctx, client.FileFilter{WorkflowID: id}))
	if err != nil {
		return err
	}
	byID := make(map[int64]api.File, len(files))
	for _, f := range files {
		byID[*f.ID] = f
	}
	var missing []string
	for _, fileID := range required {
		if f, ok := byID[fileID]; ok && !cli.Exists(a, cli.PathIn(dir, f.Path)) {
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

// Ensure starts a workflow of which nothing is initialized yet.
func Ensure(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, ignoreMissing bool) error {
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return err
	}
	switch n := status.JobsByStatus; {
	case status.IsCanceled:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled", id).
			WithHint("`%s reset --failed-only %d` makes it runnable again", cli.Prefix(a), id)
	case status.TotalJobs == 0:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has no jobs", id)
	case apidata.CountDone(n) == status.TotalJobs:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has ended", id).
			WithHint("`%s reset %d` makes it runnable again", cli.Prefix(a), id)
	case n.Uninitialized == 0:
		return nil
	default:
		if !ignoreMissing {
			if err := CheckStoredInputs(ctx, a, c, id); err != nil {
				return err
			}
		}
		begun, err := Begin(ctx, a, c, status, n.Uninitialized+n.Disabled != status.TotalJobs)
		if err != nil || begun {
			return err
		}
		return Ensure(ctx, a, c, id, ignoreMissing)
	}
}
