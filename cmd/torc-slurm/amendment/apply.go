package amendment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DryRun shows what a specification would change in the workflow.
func (ch *Choice) DryRun(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition) error {
	if err := ch.stateFiles(ctx, a, c, d, true); err != nil {
		return err
	}
	plan, err := ch.propose(ctx, a, c, d)
	if err != nil {
		return err
	}
	return a.ShowRecord(plan, func(w io.Writer) { writePlan(w, plan, longPlan) })
}

// Apply shows what a specification changes in the workflow, and changes it. It asks before
// if the configuration says so, and if all jobs would be new. Done is false if the answer
// was no. Missing input files are CodeConflict unless they are to be ignored.
func (ch *Choice) Apply(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition, ignoreMissing bool) (plan *api.Amendment, done bool, err error) {
	if err := ch.stateFiles(ctx, a, c, d, ignoreMissing); err != nil {
		return nil, false, err
	}
	if plan, err = ch.propose(ctx, a, c, d); err != nil {
		return nil, false, err
	}
	writePlan(a.Stderr, plan, shortPlan)
	if plan.AllNew || ch.ask {
		question := fmt.Sprintf("Continue workflow %d?", *ch.Workflow.ID)
		if plan.AllNew {
			question = fmt.Sprintf("Workflow %d has none of these jobs. Add them all to it and disable its own?", *ch.Workflow.ID)
		}
		if yes, err := a.Confirm(false, question); err != nil || !yes {
			return plan, false, err
		}
	}
	q := ch.query(false)
	q.AllNew = plan.AllNew
	plan, err = c.Workflows.Amend(ctx, *ch.Workflow.ID, d, q)
	return plan, err == nil, err
}

// propose returns what a specification would change.
func (ch *Choice) propose(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition) (*api.Amendment, error) {
	if ch.named && ch.Workflow.IsCanceled != nil && *ch.Workflow.IsCanceled {
		a.Note("Workflow %d was canceled; it no longer is if it continues", *ch.Workflow.ID)
	}
	return c.Workflows.Amend(ctx, *ch.Workflow.ID, d, ch.query(true))
}

func (ch *Choice) query(dryRun bool) api.AmendQuery {
	return api.AmendQuery{DryRun: dryRun, RunID: ch.Workflow.RunID, Stated: true, TakeBack: ch.named}
}

// stateFiles sets the times and sizes of the files of a definition, whose relative paths
// start at the folder where the workflow was submitted. Missing files that jobs read and no
// job writes are CodeConflict unless they are to be ignored.
func (ch *Choice) stateFiles(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition, ignoreMissing bool) error {
	dir, err := outputdir.SubmissionDir(ctx, a, c, *ch.Workflow.ID)
	if err != nil {
		return err
	}
	exists := make(map[string]bool, len(d.Files))
	for i := range d.Files {
		f := &d.Files[i]
		f.ModTime, f.Size = nil, nil
		info, err := os.Stat(cli.PathIn(dir, f.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return workflow.Errorf(workflow.CodeConflict, "cannot read a file of the workflow: %v", err)
		}
		f.ModTime, f.Size, exists[f.Path] = new(float64(info.ModTime().UnixNano())/1e9), new(info.Size()), true
	}
	if ignoreMissing {
		return nil
	}
	missing := slices.DeleteFunc(d.RequiredInputs(), func(path string) bool { return exists[path] })
	if len(missing) == 0 {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "jobs read files that do not exist in %s: %s", filepath.Clean(dir), cli.FirstNames(missing)).
		WithHint("no job writes them; relative paths start at the folder where the workflow was submitted")
}
