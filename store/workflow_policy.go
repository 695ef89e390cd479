package store

import (
	"fmt"
	"reflect"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// updatePolicy changes a workflow's policy for failures, from the next decision on. Given
// keys replace stored ones; unset keys are removed.
func updatePolicy(tx *core.Tx, w *workflow.Workflow, change *workflow.RunPolicy, unset []string) error {
	if change == nil && len(unset) == 0 {
		return nil
	}
	var policy workflow.RunPolicy
	if w.Policy != nil {
		policy = *w.Policy
	}
	if change == nil {
		change = &workflow.RunPolicy{}
	}
	policy.Merge(change)
	if err := policy.Unset(unset); err != nil {
		return err
	}
	if w.Policy == nil && reflect.DeepEqual(policy, workflow.RunPolicy{}) {
		return nil
	}
	if reflect.DeepEqual(w.Policy, &policy) {
		return nil
	}
	if d := change.Deadline; d != nil && (w.Policy == nil || !reflect.DeepEqual(w.Policy.Deadline, d)) {
		return workflow.Errorf(workflow.CodeInvalid, "Cannot modify policy.deadline of workflow %d: it is already running", w.ID)
	}
	if err := requireMade(tx, w, &policy); err != nil {
		return err
	}
	if err := workflow.ProblemsError("policy", policy.Validate()); err != nil {
		return err
	}
	if end := policy.End; end != nil && (w.Policy == nil || w.Policy.End == nil || w.Policy.End.SuccessIf != end.SuccessIf) {
		if err := requireJobs(tx, w, &policy); err != nil {
			return err
		}
	}
	if w.Policy != nil && w.Policy.Deadline != nil && policy.Deadline == nil {
		if err := engine.DropDeadline(tx, w.ID); err != nil {
			return err
		}
	}
	if err := record.RequirePolicies(tx, "retry_policies of the workflow", policy.RetryPolicies); err != nil {
		return err
	}
	w.Policy = &policy
	if reflect.DeepEqual(policy, workflow.RunPolicy{}) {
		w.Policy = nil
	}
	text, err := jsonText(w.Policy)
	if err != nil {
		return fmt.Errorf("write the policy of workflow %d: %w", w.ID, err)
	}
	if err := tx.ExecOne(`UPDATE workflow SET policy = ? WHERE id = ?`, text, w.ID); err != nil {
		return fmt.Errorf("change the policy of workflow %d: %w", w.ID, err)
	}
	tx.Failed = core.AppendNew(tx.Failed, []int64{w.ID}) // the new max_failures may hold or release claims
	delete(tx.Shared.Patterns, w.ID)
	tx.Ready(w.ID)
	return nil
}

// requireJobs rejects a success condition about jobs that do not exist, if the workflow has
// jobs and can get no others.
func requireJobs(tx *core.Tx, w *workflow.Workflow, policy *workflow.RunPolicy) error {
	if policy == nil || policy.End == nil || policy.End.SuccessIf == "" || w.DynamicJobs != nil {
		return nil
	}
	names, err := sqlite.Select(tx, sqlite.ScanString, `SELECT name FROM job WHERE workflow_id = ? ORDER BY id`, w.ID)
	if err != nil {
		return fmt.Errorf("read the names of jobs of workflow %d: %w", w.ID, err)
	}
	if len(names) == 0 {
		return nil
	}
	return workflow.ProblemsError("policy", policy.UnknownJobs(names))
}

// requireMade rejects policies about jobs that can only be created with the workflow.
func requireMade(tx *core.Tx, w *workflow.Workflow, policy *workflow.RunPolicy) error {
	before := w.Policy
	if before == nil {
		before = &workflow.RunPolicy{}
	}
	if !reflect.DeepEqual(before.EndJob(), policy.EndJob()) {
		return workflow.Errorf(workflow.CodeInvalid, "Cannot modify policy.end.job of workflow %d: its end job was created with it", w.ID).
			WithHint("change the job, or create the workflow again from a specification")
	}
	if reflect.DeepEqual(before.OnFailure, policy.OnFailure) {
		return nil
	}
	switch made, err := engine.HasStage(tx, w.ID, workflow.StageCompensation); {
	case err != nil:
		return err
	case !made:
		return workflow.Errorf(workflow.CodeInvalid, "Cannot modify policy.on_failure of workflow %d: it has no undo jobs", w.ID).
			WithHint("create the workflow again from a specification that has them")
	case policy.OnFailure == nil:
		return workflow.Errorf(workflow.CodeInvalid, "Cannot remove policy.on_failure of workflow %d: its undo jobs were created with it", w.ID)
	}
	return nil
}
