package workflows

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// workflowFile is a file of a workflow with what is on the disk.
type workflowFile struct {
	api.File
	found    *float64 // its modification time now, in seconds; nil if it is not there
	output   bool     // some job writes it
	required bool     // must be there: only read, or written by a completed job
}

// workflowFiles are the files of a workflow.
type workflowFiles struct {
	workflowID int64
	files      []workflowFile
}

// filesOfWorkflow looks at the files of a workflow. Relative paths count from the
// current directory, as for run.
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

// fileIDs are the ids of a list of files.
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

// check says what stands in the way of running everything.
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

// record tells the server when the files were changed. What is not there has
// no time.
func (w *workflowFiles) record(ctx context.Context, c *cli.Connection) error {
	for _, f := range w.files {
		if sameTime(f.ModTime, f.found) {
			continue
		}
		change := f.File
		change.ModTime = f.found
		if _, err := c.Files.Update(ctx, cli.OrZero(f.ID), &change); err != nil {
			return fmt.Errorf("record the time of file %q: %w", f.Name, err)
		}
	}
	return nil
}

// sameTime compares two times that have been through JSON.
func sameTime(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) < 1e-5
}

// fileChanges are the files that are not as they were, and the jobs that have
// to run again because of it.
type fileChanges struct {
	paths []string
	jobs  []api.Job
}

// changes finds what has changed since the last run: a file that was there
// then and is newer, older or gone. Who reads it runs again; an output that is
// gone also makes its writer run again, if that was completed.
func (w *workflowFiles) changes(ctx context.Context, c *cli.Connection) (fileChanges, error) {
	changed := make(map[int64]workflowFile)
	result := fileChanges{paths: []string{}}
	for _, f := range w.files {
		gone := f.found == nil && f.output && f.required
		if gone || f.ModTime != nil && !sameTime(f.ModTime, f.found) {
			changed[cli.OrZero(f.ID)] = f
			result.paths = append(result.paths, f.Path)
		}
	}
	if len(changed) == 0 {
		return result, nil
	}
	for j, err := range c.Jobs.List(ctx, client.JobFilter{WorkflowID: w.workflowID, IncludeRelationships: true}) {
		if err != nil {
			return result, err
		}
		s := apidata.StatusOf(j)
		reads := slices.ContainsFunc(j.InputFileIDs, func(id int64) bool { _, ok := changed[id]; return ok })
		lost := slices.ContainsFunc(j.OutputFileIDs, func(id int64) bool { f, ok := changed[id]; return ok && f.found == nil })
		if s != workflow.Uninitialized && s != workflow.Disabled && (reads || lost && s == workflow.Completed) {
			result.jobs = append(result.jobs, j)
		}
	}
	return result, nil
}

// with are the names of the jobs that run again, with those that are known by
// name.
func (f *fileChanges) with(names []string) []string {
	all := slices.Clone(names)
	for _, j := range f.jobs {
		all = append(all, j.Name)
	}
	slices.Sort(all)
	if all = slices.Compact(all); all == nil {
		all = []string{}
	}
	return all
}
