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
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// JobOperation is what a user does with jobs.
type JobOperation struct {
	Verb   operate.Verb
	Choice JobChoice
	User   string
	Reason string
	// Priority is the new priority; First makes jobs precede all others that are not
	// complete.
	Priority int64
	First    bool
}

// OperatedJob is what an operation did to a job.
type OperatedJob struct {
	LiveJob
	Effect operate.Effect
	Why    string // if it is unchanged or rejected
	Named  bool   // by its name or id; others may not match what the operation is for
	To     workflow.JobStatus
}

// JobsOperated is the result of an operation.
type JobsOperated struct {
	Jobs []OperatedJob // by id
	// Dependents are jobs that are, or will be, canceled or not needed because of the others.
	Dependents []DependentJob
	// CPUSeconds is what the ending jobs have used so far.
	CPUSeconds int64
	Priority   int64 // that prioritized jobs have
	EndsRun    bool  // the run ends with it
}

// DependentJob is a job that ends without having run.
type DependentJob struct {
	ID     int64
	Name   string
	Status workflow.JobStatus
}

// Operate cancels, holds, releases or prioritizes jobs of a workflow in one transaction. A job
// for which that is not possible is rejected, and the others change. It is CodeConflict if all
// are rejected, if the run is canceled or being undone, and CodeNotFound if the choice matches
// nothing.
func (s Jobs) Operate(ctx context.Context, workflowID int64, o JobOperation) (result JobsOperated, err error) {
	err = s.shared.By(ctx).Do(string(o.Verb)+" jobs", func(tx *core.Tx) (err error) {
		result, err = operateJobs(tx, workflowID, &o, true)
		return err
	})
	return result, err
}

// ProposeOperate returns what Operate would return, or its error, and changes nothing.
func (s Jobs) ProposeOperate(_ context.Context, workflowID int64, o JobOperation) (result JobsOperated, err error) {
	err = s.shared.Propose("propose to "+string(o.Verb)+" jobs", func(tx *core.Tx) (err error) {
		result, err = operateJobs(tx, workflowID, &o, false)
		return err
	})
	return result, err
}

// operateJobs carries out an operation, or only shows it.
func operateJobs(tx *core.Tx, workflowID int64, o *JobOperation, carryOut bool) (out JobsOperated, err error) {
	r, err := core.LoadRun(tx, workflowID)
	if err != nil {
		return out, err
	}
	if o.Verb == operate.Prioritize && o.Priority < 0 {
		return out, workflow.Errorf(workflow.CodeInvalid, "the priority must not be negative, but is %d", o.Priority)
	}
	if err := refuseOperation(r, o.Verb); err != nil {
		return out, err
	}
	chosen, err := choose(tx, r, &o.Choice)
	if err != nil {
		return out, err
	}
	if out.Priority = o.Priority; o.First {
		if out.Priority, err = firstPriority(tx, r, chosen); err != nil {
			return out, err
		}
	}
	at := map[operate.Effect][]engine.ChosenJob{}
	for i := range chosen {
		j := &chosen[i]
		j.NewPriority = out.Priority
		effect, why := operate.EffectOf(o.Verb, j.JobFacts)
		out.Jobs = append(out.Jobs, OperatedJob{LiveJob: j.LiveJob, Effect: effect, Why: why, Named: j.named, To: j.LiveJob.Status})
		at[effect] = append(at[effect], engine.ChosenJob{ID: j.ID, Name: j.Name, Attempt: j.attempt, From: j.LiveJob.Status})
		if effect == operate.Ending || effect == operate.Changed && o.Verb == operate.Cancel {
			out.CPUSeconds += j.UsedCPUSeconds(tx.NowMS)
			out.Jobs[i].To = workflow.Canceled
		}
	}
	if len(at[operate.Rejected]) == len(chosen) {
		return out, allRejected(o.Verb, out.Jobs)
	}
	changed, ending := at[operate.Changed], at[operate.Ending]
	if len(changed)+len(ending) == 0 {
		return out, nil
	}
	if o.Verb == operate.Cancel {
		if err := foreseeCancel(tx, r, chosen, slices.Concat(changed, ending), &out); err != nil {
			return out, err
		}
	}
	if !carryOut {
		return out, nil
	}
	details := map[string]any{"reason": o.Reason, "jobs": len(changed) + len(ending), "example": slices.Concat(changed, ending)[0].Name}
	if o.Verb == operate.Prioritize {
		details["priority"] = out.Priority
	}
	if err := core.UserAction(tx, workflowID, o.User, string(o.Verb)+"_jobs", details); err != nil {
		return out, err
	}
	switch o.Verb {
	case operate.Cancel:
		by := workflow.Culprit{User: o.User, Reason: o.Reason}
		if err := engine.EndJobs(tx, r, ending, by); err != nil {
			return out, err
		}
		return out, engine.CancelJobs(tx, r, changed, by)
	case operate.Hold:
		return out, engine.HoldJobs(tx, r, changed, &workflow.UserHold{By: o.User, Reason: o.Reason, SinceMS: tx.NowMS})
	case operate.Release:
		return out, engine.HoldJobs(tx, r, changed, nil)
	}
	return out, engine.Reclassify(tx, r, changed, func(k *core.ClassKey) { k.Priority = out.Priority })
}

// refuseOperation rejects operations on jobs of a run that does not continue.
func refuseOperation(r *view.Run, v operate.Verb) error {
	if v != operate.Cancel {
		return nil
	}
	if r.Canceled {
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: its jobs are ending, or do not start", r.WorkflowID)
	}
	return r.RefuseWhileCompensating()
}

// allRejected is the error if no job can be changed: about the only one, or the first of
// several.
func allRejected(v operate.Verb, jobs []OperatedJob) error {
	j := &jobs[0]
	e := workflow.Errorf(workflow.CodeConflict, "job %d (%s) cannot be %s: %s", j.ID, j.Name, v.Past(), j.Why)
	if n := len(jobs); n > 1 {
		e = e.WithHint("nor can the other %d that are chosen; nothing was changed", n-1)
	}
	return e
}

// firstPriority returns the priority with which the chosen jobs precede all others that are
// not complete.
func firstPriority(tx *core.Tx, r *view.Run, chosen []chosenJob) (first int64, err error) {
	ids := make([]int64, len(chosen))
	for i := range chosen {
		ids[i] = chosen[i].ID
		first = max(first, chosen[i].Priority)
	}
	var others int64
	err = tx.Row(`SELECT COALESCE(MAX(c.priority), -1) FROM claim_class c WHERE c.workflow_id = ?1 AND EXISTS (SELECT 1 FROM job j
		WHERE j.class_id = c.id AND j.status NOT BETWEEN {completed} AND {disabled} AND j.id NOT IN (SELECT value FROM json_each(?2)))`,
		[]any{r.WorkflowID, sqlite.IDList(ids)}, &others)
	return max(first, others+1), sqlite.Wrap(err, "read the priorities of workflow %d", r.WorkflowID)
}

// foreseeCancel finds out which other jobs end without having run when jobs are canceled, as
// if the live ones had ended already.
func foreseeCancel(tx *core.Tx, r *view.Run, chosen []chosenJob, jobs []engine.ChosenJob, out *JobsOperated) error {
	const gone = `SELECT id FROM job WHERE workflow_id = ? AND status IN ({canceled}, {disabled})`
	before, err := core.IDsOf(tx, gone, r.WorkflowID)
	if err != nil {
		return fmt.Errorf("foresee the end of jobs of workflow %d: %w", r.WorkflowID, err)
	}
	known := make(map[int64]bool, len(before)+len(chosen))
	for _, id := range before {
		known[id] = true
	}
	for i := range chosen {
		known[chosen[i].ID] = true
	}
	run := *r
	err = tx.Try(func() error {
		if err := engine.CancelJobs(tx, &run, jobs, workflow.Culprit{User: "nobody"}); err != nil {
			return err
		}
		after, err := sqlite.Select(tx, func(s sqlite.Scanner) (d DependentJob, err error) { return d, s.Scan(&d.ID, &d.Name, &d.Status) },
			`SELECT id, name, status FROM job WHERE workflow_id = ? AND status IN ({canceled}, {disabled}) ORDER BY id`, r.WorkflowID)
		if err != nil {
			return err
		}
		for _, d := range after {
			if !known[d.ID] {
				out.Dependents = append(out.Dependents, d)
			}
		}
		now, err := core.LoadRun(tx, r.WorkflowID)
		if err != nil {
			return err
		}
		out.EndsRun = now.Ended && !r.Ended
		return nil
	})
	return sqlite.Wrap(err, "foresee the end of jobs of workflow %d", r.WorkflowID)
}
