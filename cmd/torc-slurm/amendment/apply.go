package amendment

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// DryRun shows what a specification would change in the workflow.
func (ch *Choice) DryRun(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition) error {
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
	if !ignoreMissing {
		if err := ch.checkInputs(ctx, a, c, d); err != nil {
			return nil, false, err
		}
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
	return api.AmendQuery{DryRun: dryRun, RunID: ch.Workflow.RunID, TakeBack: ch.named}
}

// checkInputs returns CodeConflict if files are missing that jobs read and no job writes, in
// the folder where the workflow was submitted.
func (ch *Choice) checkInputs(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflow.Definition) error {
	dir, err := outputdir.SubmissionDir(ctx, a, c, *ch.Workflow.ID)
	if err != nil {
		return err
	}
	var missing []string
	for _, path := range d.RequiredInputs() {
		if !cli.Exists(a, cli.PathIn(dir, path)) {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return workflow.Errorf(workflow.CodeConflict, "jobs read files that do not exist in %s: %s", filepath.Clean(dir), cli.FirstNames(missing)).
		WithHint("no job writes them; relative paths start at the folder where the workflow was submitted")
}
