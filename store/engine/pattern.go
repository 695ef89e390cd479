package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// maxKnownPatterns limits the workflows whose failure patterns are cached.
const maxKnownPatterns = 1000

// FailurePatterns returns the failure patterns of a run. They are cached until a policy
// changes.
func FailurePatterns(tx *core.Tx, r *view.Run) (*core.Patterns, error) {
	if known := tx.Shared.Patterns[r.WorkflowID]; known != nil {
		return known, nil
	}
	policy, err := r.Policy()
	if err != nil {
		return nil, err
	}
	policies, err := policiesInReach(tx, r, policy)
	if err != nil {
		return nil, err
	}
	found := &core.Patterns{Patterns: failure.NewPatterns(policy.FailureCategories, policies)}
	if found.Detector, err = found.Patterns.Detector(); err != nil {
		return nil, fmt.Errorf("workflow %d: %w", r.WorkflowID, err)
	}
	if found.Left > 0 {
		tx.Shared.Log.Warn("too many patterns of retry rules, the rest is looked for only in what is kept of the standard error output",
			"workflow_id", r.WorkflowID, "patterns", len(found.Stderr)+found.Left, "rest", found.Left)
	}
	if tx.Shared.Patterns == nil || len(tx.Shared.Patterns) >= maxKnownPatterns {
		tx.Shared.Patterns = map[int64]*core.Patterns{}
	}
	tx.Shared.Patterns[r.WorkflowID] = found
	tx.Cache()
	return found, nil
}

// policiesInReach returns all policies that may apply to a job of a run, in whatever queue
// it runs.
func policiesInReach(tx *core.Tx, r *view.Run, policy *workflow.RunPolicy) ([]workflow.RetryPolicy, error) {
	source, missing := view.PolicySource{Row: tx.Row}, &retry.Policies{}
	all, err := source.Resolve(missing, policy.RetryPolicies)
	if err != nil {
		return nil, err
	}
	var refs []workflow.PolicyRef
	err = tx.Each(`SELECT policy FROM job_policy WHERE workflow_id = ?`, func(row sqlite.Scanner) error {
		var text string
		var ofJob workflow.JobPolicy
		if err := row.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &ofJob); err != nil {
			return err
		}
		refs = append(refs, ofJob.RetryPolicies...)
		return nil
	}, r.WorkflowID)
	if err == nil {
		err = tx.Each(`SELECT DISTINCT name FROM queue_policy`, func(row sqlite.Scanner) error {
			var ref workflow.PolicyRef
			err := row.Scan(&ref.Name)
			refs = append(refs, ref)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the policies of workflow %d: %w", r.WorkflowID, err)
	}
	settings, err := source.Settings()
	if err != nil {
		return nil, err
	}
	if settings.DefaultPolicy != "" {
		refs = append(refs, workflow.PolicyRef{Name: settings.DefaultPolicy})
	}
	others, err := source.Resolve(missing, refs)
	return append(all, others...), err
}

// categorize finds the category of a failed attempt: the one that the runner found or, if
// it did not search, one that matches the report.
func (f *Finisher) categorize(e *Ending) error {
	s, err := FailurePatterns(f.tx, f.Run)
	if err != nil {
		return err
	}
	evidence := e.Evidence
	if evidence == nil { // from a torc client
		evidence = &workflow.Evidence{ExitCode: &e.Cause.ReturnCode}
	}
	if workflow.CheckName("category", evidence.Category) != nil || workflow.CheckName("category", evidence.Subcategory) != nil {
		// It is no category of the specification. The attempt counts nevertheless.
		evidence.Category, evidence.Subcategory, evidence.PatternsHash = "", "", ""
	}
	if evidence.Category == "" && evidence.PatternsHash != s.Hash {
		s.Detector.Categorize(evidence, evidence.StderrTail)
	}
	e.category, e.subcategory = evidence.Category, evidence.Subcategory
	return nil
}
