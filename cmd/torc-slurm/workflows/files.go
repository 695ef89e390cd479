package workflows

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// workflowFile is a file of a workflow, and its state on disk.
type workflowFile struct {
	api.File
	found    *float64 // its present modification time, in seconds; nil if it does not exist
	output   bool     // a job writes it
	required bool     // must exist: no job writes it, or a completed one did
}

// workflowFiles are the files of a workflow.
type workflowFiles struct {
	workflowID int64
	files      []workflowFile
}

// filesOfWorkflow returns the files of a workflow and their state on disk. Relative paths
// start at the current directory, as for run.
func filesOfWorkflow(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (*workflowFiles, error) {
	outputs, err := fileIDs(c.Files.List(ctx, client.FileFilter{WorkflowID: id, IsOutput: true}))
	if err != nil {
		return nil, err
	}
	required, err := c.Files.RequiredExisting(ctx, id)
	if err != nil {
		return nil, err
	}
	all := &workflowFiles{workflowID: id}
	for f, err := range c.Files.List(ctx, client.FileFilter{WorkflowID: id}) {
		if err != nil {
			return nil, err
		}
		found, err := cli.ModTime(a.Path(f.Path))
		if err != nil {
			return nil, err
		}
		_, output := outputs[cli.OrZero(f.ID)]
		_, must := slices.BinarySearch(required, cli.OrZero(f.ID))
		all.files = append(all.files, workflowFile{File: f, found: found, output: output, required: must})
	}
	return all, nil
}

// fileIDs returns the ids of a list of files.
func fileIDs(files func(func(api.File, error) bool)) (map[int64]bool, error) {
	ids := make(map[int64]bool)
	for f, err := range files {
		if err != nil {
			return nil, err
		}
		ids[cli.OrZero(f.ID)] = true
	}
	return ids, nil
}

// check returns which inputs are missing and which outputs exist.
func (w *workflowFiles) check(id int64) initCheck {
	check := initCheck{WorkflowID: id, MissingInputs: []string{}, ExistingOutputs: []string{}}
	for _, f := range w.files {
		switch {
		case !f.output && f.required && f.found == nil:
			check.MissingInputs = append(check.MissingInputs, f.Path)
		case f.output && f.found != nil:
			check.ExistingOutputs = append(check.ExistingOutputs, f.Path)
		}
	}
	check.MissingInputCount, check.ExistingOutputCount = len(check.MissingInputs), len(check.ExistingOutputs)
	check.Safe = check.MissingInputCount+check.ExistingOutputCount == 0
	return check
}

// times returns when the files were modified, as a request has it.
func (w *workflowFiles) times() []api.ModifiedFile {
	times := make([]api.ModifiedFile, len(w.files))
	for i, f := range w.files {
		times[i] = api.ModifiedFile{FileID: cli.OrZero(f.ID), ModTime: f.found}
	}
	return times
}
