package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
)

// AmendOptions configure an amendment.
type AmendOptions struct {
	RunID  *int64 // the workflow must be at this run; nil: at any
	AllNew bool   // even if the workflow has no job of the definition
	// Stated says that the files of the definition have their present times and sizes.
	// Otherwise only the definition is compared.
	Stated bool
	// TakeBack takes back the cancellation of a canceled workflow.
	TakeBack bool
	User     string // who must own the workflow; also for the event
}

// Amended is what an amendment did, or would do.
type Amended struct {
	Workflow workflow.Workflow // at its new run, if jobs run
	Earlier  *amend.Side       // the workflow as it was
	Plan     *amend.Plan
	// Obstacle is why the amendment would be rejected now; nil: it would not.
	Obstacle error
}

// Amend changes a workflow so that it has the jobs of a definition, and starts a new run
// with those that have to run again, if there are any. Jobs are matched by name. What is
// unchanged and completed stays, with all attempts. Jobs that the definition does not have
// are disabled. It is one transaction. It returns CodeInvalid for an inconsistent
// definition, and CodeConflict while the workflow is active and for one of another user.
func (s Workflows) Amend(ctx context.Context, id int64, d *workflow.Definition, o AmendOptions) (done Amended, err error) {
	err = s.shared.By(ctx).Do("amend a workflow", func(tx *core.Tx) (err error) {
		if done, err = amendWorkflow(tx, id, d, &o); err == nil {
			err = done.Obstacle
		}
		return err
	})
	return done, err
}

// ProposeAmend returns what Amend would do, or its error, and changes nothing.
func (s Workflows) ProposeAmend(_ context.Context, id int64, d *workflow.Definition, o AmendOptions) (done Amended, err error) {
	err = s.shared.Propose("propose to amend a workflow", func(tx *core.Tx) (err error) {
		done, err = amendWorkflow(tx, id, d, &o)
		return err
	})
	return done, err
}

// amendment is the state of an Amend.
type amendment struct {
	tx         *core.Tx
	id         int64
	definition *workflow.Definition
	stated     bool // see AmendOptions
	earlier    *earlierWorkflow
	resolve    *DefinitionWriter // finds what jobs of the definition refer to
	insert     *jobInserter
	jobs       []workflow.Job // of the definition
	columns    []jobColumns   // of each of them, without gates
	deps       [][]int32
	plan       *amend.Plan
}

func amendWorkflow(tx *core.Tx, id int64, d *workflow.Definition, o *AmendOptions) (done Amended, err error) {
	w, err := core.GetWorkflow(tx, id)
	if err != nil {
		return done, err
	}
	if err := mayAmend(&w, o); err != nil {
		return done, err
	}
	a := amendment{tx: tx, id: id, definition: d, stated: o.Stated}
	if a.earlier, err = readEarlier(tx, &w); err != nil {
		return done, err
	}
	now, err := a.now()
	if err != nil {
		return done, err
	}
	if a.plan, err = amend.Compare(&a.earlier.side, now); err != nil {
		return done, err
	}
	done = Amended{Workflow: w, Earlier: &a.earlier.side, Plan: a.plan}
	if done.Obstacle, err = a.obstacle(o); err != nil || done.Obstacle != nil {
		return done, err
	}
	_, runs := a.plan.Runs()
	from := w.RunID + 1
	if runs > 0 || w.IsCanceled {
		if done.Workflow, err = beginRun(tx, id, &w.RunID, false, o.User); err != nil {
			return done, err
		}
	}
	if err := a.apply(&w); err != nil {
		return done, err
	}
	// The checker of the database compares attempts from this run on with the new graph.
	return done, core.UserAction(tx, id, o.User, "amend_workflow", map[string]any{
		"from_run": from, "run": runs, "unchanged": len(d.Jobs) - runs, "removed": len(a.plan.Removed),
	})
}

// mayAmend rejects a workflow of another user, and one that is not as the caller expects it.
func mayAmend(w *workflow.Workflow, o *AmendOptions) error {
	switch {
	case o.User != "" && w.User != o.User:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d belongs to %s, not to %s", w.ID, w.User, o.User).
			WithHint("create a workflow of your own from the specification")
	case w.IsArchived:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is archived", w.ID).WithHint("take it out of the archive first")
	case w.IsCanceled && !o.TakeBack:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d was canceled", w.ID).
			WithHint("name it (--resume=%d) to take the cancellation back, or create a new workflow", w.ID)
	case o.RunID != nil && *o.RunID != w.RunID:
		return core.AnotherRun(w.ID, w.RunID, *o.RunID)
	}
	return nil
}

// obstacle returns why the plan cannot be carried out now.
func (a *amendment) obstacle(o *AmendOptions) (obstacle, err error) {
	if a.plan.Matched == 0 && len(a.earlier.side.Jobs) > 0 && !o.AllNew {
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has no job of the definition: all %s would be new, and %d disabled",
			a.id, workflow.CountOf(int64(len(a.definition.Jobs)), "job", "jobs"), len(a.plan.Removed)).
			WithHint("create a new workflow, or confirm it (all_new in the API)"), nil
	}
	err = requireIdle(a.tx, a.id)
	if code := workflow.CodeOf(err); code == workflow.CodeInvalid {
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is active, so it cannot change now", a.id).
			WithHint("wait for its jobs, or let them end: `torc-slurm pause --now %d`, or `torc-slurm cancel %d`", a.id, a.id), nil
	}
	return nil, err
}

// apply carries the plan out.
func (a *amendment) apply(w *workflow.Workflow) error {
	for _, step := range []func() error{
		func() error { return a.updateWorkflow(w) },
		a.writeJobs, a.writeLinks, a.removeJobs, a.moveJobs,
		func() error { return checkStages(a.tx, a.id) },
		a.settle, a.writeActions,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return requireJobs(a.tx, w, a.definition.Policy)
}

// updateWorkflow changes the workflow itself. Its user and its folder stay, and so does the
// path of its specification if the definition comes from no file.
func (a *amendment) updateWorkflow(w *workflow.Workflow) error {
	now := headerWorkflow(a.definition)
	now.ID, now.User = a.id, w.User
	if now.SpecPath == nil {
		now.SpecPath = w.SpecPath
	}
	if w.SubmissionDirectory != nil { // the files of the jobs are there
		now.SubmissionDirectory = w.SubmissionDirectory
	}
	if err := checkWorkflow(&now); err != nil {
		return err
	}
	values, err := definedValues(a.tx, &now)
	if err != nil {
		return err
	}
	err = a.tx.ExecOne(`UPDATE workflow SET (`+definedColumns+`) = (`+placeholders(len(values))+`) WHERE id = ?`, append(values, a.id)...)
	if err != nil {
		return fmt.Errorf("amend workflow %d: %w", a.id, err)
	}
	*w = now
	delete(a.tx.Shared.Patterns, a.id)
	a.tx.Failed = core.AppendNew(a.tx.Failed, []int64{a.id}) // the new max_failures may hold or release claims
	a.tx.Ready(a.id)
	return nil
}

// moveJobs resets the jobs that run, and disables those that the definition does not have.
func (a *amendment) moveJobs() error {
	var again, gone []int64
	for _, list := range [][]amend.Change{a.plan.Jobs, a.plan.Spawned} {
		for i := range list {
			if c := &list[i]; c.Earlier >= 0 && c.Reason != amend.Kept {
				again = append(again, a.earlier.rows[c.Earlier].id)
			}
		}
	}
	for _, e := range a.plan.Removed {
		gone = append(gone, a.earlier.rows[e].id)
	}
	const these = `id IN (SELECT value FROM json_each(?3))`
	all := sqlite.IDList(slices.Concat(again, gone))
	if _, err := core.MoveJobs(a.tx, workflow.OpReset, a.id, workflow.Uninitialized, engine.AsNew+`, result_id = NULL`, `status != {uninitialized} AND `+these, all); err != nil {
		return fmt.Errorf("reset jobs of workflow %d: %w", a.id, err)
	}
	_, err := core.MoveJobs(a.tx, workflow.OpDisable, a.id, workflow.Disabled, `skipped_by = NULL`, these, sqlite.IDList(gone))
	return sqlite.Wrap(err, "disable jobs of workflow %d", a.id)
}

// settle updates what depends on the jobs that have changed.
func (a *amendment) settle() error {
	r, err := core.LoadRun(a.tx, a.id)
	if err != nil {
		return err
	}
	if err := settleReset(a.tx, r); err != nil {
		return err
	}
	return engine.EndIfOver(a.tx, a.id) // a new run in which nothing has to run
}

// removeJobs takes jobs out of the graph that the definition does not have.
func (a *amendment) removeJobs() error {
	var gone []int64
	for _, e := range a.plan.Removed {
		if old := &a.earlier.side.Jobs[e]; old.State.Rests {
			return workflow.Errorf(workflow.CodeInvalid, "the definition does not have job %q, which undoes others", old.Name).
				WithHint("a workflow with another compensation is a new one: run the specification without --resume")
		}
		gone = append(gone, a.earlier.rows[e].id)
	}
	if len(gone) == 0 {
		return nil
	}
	for _, query := range append([]string{`UPDATE job SET gate_id = NULL, origin = '` + workflow.OriginRemoved + `' WHERE id IN (SELECT value FROM json_each(?))`}, deleteLinks()...) {
		if _, err := a.tx.Exec(query, sqlite.IDList(gone)); err != nil {
			return fmt.Errorf("take jobs out of workflow %d: %w", a.id, err)
		}
	}
	return nil
}

// deleteLinks returns statements that delete the links of jobs, for a list of their ids.
func deleteLinks() (queries []string) {
	for _, table := range view.LinkTables {
		queries = append(queries, `DELETE FROM `+table.Name+` WHERE job_id IN (SELECT value FROM json_each(?))`)
	}
	return queries
}
