package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// HoldSelection selects held jobs of a workflow: by id, else by fingerprint, else all.
type HoldSelection struct {
	JobIDs      []int64
	Fingerprint string
}

// ResolveOptions configure how holds are ended.
type ResolveOptions struct {
	// DryRun returns the outcomes without changing anything.
	DryRun bool
	// Force permits requirements beyond what is available anywhere.
	Force bool
}

// Resolve ends the holds of jobs in one transaction, and returns the outcome for each. A
// hold that cannot end has an error there; the others are resolved.
func (s Holds) Resolve(
	ctx context.Context, workflowID int64, which HoldSelection, w hold.Classification, o ResolveOptions,
) (outcomes []hold.HoldOutcome, err error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	err = s.resolve(ctx, workflowID, o, func(x *holdResolver) error {
		if err := x.allowed(&w); err != nil {
			return err
		}
		ids, err := x.selected(which)
		if err == nil {
			outcomes, err = x.resolve(ids, w)
		}
		return err
	})
	return outcomes, err
}

// ResolveEach applies a list of verdicts in one transaction, and returns the outcome for
// each. A rejected entry has an error there; the others take effect.
func (s Holds) ResolveEach(
	ctx context.Context, workflowID int64, verdicts []hold.HoldVerdict, o ResolveOptions,
) (outcomes []hold.VerdictOutcome, err error) {
	err = s.resolve(ctx, workflowID, o, func(x *holdResolver) error {
		outcomes = make([]hold.VerdictOutcome, len(verdicts))
		for i := range verdicts {
			var err error
			if outcomes[i], err = x.verdict(i, &verdicts[i]); err != nil {
				return fmt.Errorf("entry %d: %w", i, err)
			}
		}
		return nil
	})
	return outcomes, err
}

func (s Holds) resolve(ctx context.Context, workflowID int64, o ResolveOptions, do func(*holdResolver) error) error {
	carryOut := s.shared.By(ctx).Do
	if o.DryRun {
		carryOut = s.shared.By(ctx).Propose
	}
	return carryOut("resolve holds", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		x := &holdResolver{tx: tx, r: r, o: o, decided: map[int64]string{}}
		if err := do(x); err != nil || x.retried+x.failed == 0 {
			return err
		}
		return core.Changed(tx, workflowID, "resolve_holds", map[string]any{"retried": x.retried, "failed": x.failed, "example": x.example, "reason": x.reason})
	})
}

// holdResolver ends holds of a workflow in one transaction.
type holdResolver struct {
	tx      *core.Tx
	r       *view.Run
	o       ResolveOptions
	decided map[int64]string // job names by id, decided by earlier entries
	held    []hold.HeldJob   // before the first entry; nil: not read
	// What was decided, for the log.
	retried, failed int
	example, reason string
	// proposal is the proposal that is carried out; 0 if there is none.
	proposal int64
}

// verdict applies an entry. A rejection is an outcome, not an error.
func (x *holdResolver) verdict(i int, v *hold.HoldVerdict) (hold.VerdictOutcome, error) {
	o := hold.VerdictOutcome{Entry: i, Jobs: []hold.HoldOutcome{}}
	w, err := v.Classification()
	w.ProposalID = x.proposal
	if err == nil {
		err = x.allowed(&w)
	}
	var ids []int64
	if err == nil {
		ids, err = x.meant(v)
	}
	if err == nil {
		o.Jobs, err = x.resolve(ids, w)
	}
	if refusal := refusalOf(err); refusal != nil {
		o.Error, o.Hint = refusal.Message, refusal.Hint
		return o, nil //nolint:nilerr // it is the outcome
	}
	o.Resolved = !slices.ContainsFunc(o.Jobs, func(j hold.HoldOutcome) bool { return !j.Resolved })
	return o, err
}

// refusalOf returns err if it rejects a request; nil otherwise.
func refusalOf(err error) *workflow.Error {
	var refusal *workflow.Error
	if errors.As(err, &refusal) && slices.Contains([]workflow.Code{workflow.CodeConflict, workflow.CodeInvalid, workflow.CodeNotFound}, refusal.Code) {
		return refusal
	}
	return nil
}

// allowed rejects classifications that no job of the workflow can have.
func (x *holdResolver) allowed(w *hold.Classification) error {
	if x.r.Canceled && w.Status == workflow.Ready {
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: its jobs are not retried", x.r.WorkflowID).
			WithHint("reset the workflow, or let the jobs fail")
	}
	return nil
}

// meant returns the ids of the jobs of an entry.
func (x *holdResolver) meant(v *hold.HoldVerdict) ([]int64, error) {
	switch {
	case v.Fingerprint != "":
		return x.selected(HoldSelection{Fingerprint: v.Fingerprint})
	case v.JobID != 0:
		return []int64{v.JobID}, nil
	case len(v.JobIDs) > 0:
		return x.selected(HoldSelection{JobIDs: v.JobIDs})
	}
	var id, n int64
	err := x.tx.Row(`SELECT COALESCE(MIN(id), 0), COUNT(*) FROM job WHERE workflow_id = ? AND name = ?`, []any{x.r.WorkflowID, v.Job}, &id, &n)
	if err != nil {
		return nil, fmt.Errorf("find job %s of workflow %d: %w", v.Job, x.r.WorkflowID, err)
	}
	if n > 1 {
		return nil, workflow.Errorf(workflow.CodeInvalid, "%d jobs of workflow %d have the name %q", n, x.r.WorkflowID, v.Job).
			WithHint("use the id of a job, for example %d", id)
	}
	if id == 0 {
		if id, err = strconv.ParseInt(v.Job, 10, 64); err != nil || id <= 0 {
			return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no job %q", x.r.WorkflowID, v.Job)
		}
	}
	return []int64{id}, nil
}

// selected returns the ids of selected jobs, ascending. Jobs decided by an earlier entry
// are left out, unless selected by id.
func (x *holdResolver) selected(which HoldSelection) (ids []int64, err error) {
	if len(which.JobIDs) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(which.JobIDs))), nil
	}
	if x.held == nil {
		if x.held, err = view.HeldJobs(x.tx.Query, x.r.WorkflowID); err != nil {
			return nil, err
		}
	}
	known := false
	for _, j := range x.held {
		if which.Fingerprint == "" || j.Fingerprint == which.Fingerprint {
			if known = true; x.decided[j.ID] == "" {
				ids = append(ids, j.ID)
			}
		}
	}
	switch {
	case len(ids) > 0 || which.Fingerprint == "":
		return ids, nil
	case known:
		return nil, workflow.Errorf(workflow.CodeConflict, "earlier entries have decided all jobs with the fingerprint %s", which.Fingerprint)
	}
	return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no held job with the fingerprint %s", x.r.WorkflowID, which.Fingerprint)
}

// resolve classifies jobs.
func (x *holdResolver) resolve(ids []int64, w hold.Classification) ([]hold.HoldOutcome, error) {
	outcomes := make([]hold.HoldOutcome, len(ids))
	for i, id := range ids {
		var err error
		if outcomes[i], err = x.resolveOne(id, w); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// resolveOne classifies a job. A rejection is an outcome, not an error.
func (x *holdResolver) resolveOne(id int64, w hold.Classification) (o hold.HoldOutcome, err error) {
	var of int64
	if err := x.tx.Row(`SELECT COALESCE((SELECT workflow_id FROM job WHERE id = ?), 0)`, []any{id}, &of); err != nil {
		return o, fmt.Errorf("find job %d: %w", id, err)
	}
	switch {
	case of != x.r.WorkflowID:
		return hold.HoldOutcome{JobID: id, Error: fmt.Sprintf("workflow %d has no job %d", x.r.WorkflowID, id)}, nil
	case x.decided[id] != "":
		return hold.HoldOutcome{JobID: id, JobName: x.decided[id], Error: "an earlier entry has decided it"}, nil
	}
	if o, err = classifyJob(x.tx, id, w, x.o.Force); err == nil {
		x.decided[id] = o.JobName
		if x.example == "" {
			x.example, x.reason = o.JobName, w.Reason
		}
		if w.Status == workflow.Ready {
			x.retried++
		} else {
			x.failed++
		}
		return o, nil
	}
	if refusal := refusalOf(err); refusal != nil {
		o.Error, o.Hint = refusal.Message, refusal.Hint
		return o, nil //nolint:nilerr // it is the outcome
	}
	return o, err
}
