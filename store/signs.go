package store

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// signs are what is looked for in the words of the failed attempts of a workflow.
type signs struct {
	workflow.Signs
	detector *workflow.Detector
}

// maxKnownSigns is for how many workflows signs are kept.
const maxKnownSigns = 1000

// signs returns those of a run. They are kept until a policy changes.
func (tx *Tx) signs(r *run) (*signs, error) {
	if known := tx.w.signs[r.workflowID]; known != nil {
		return known, nil
	}
	policy, err := r.policy()
	if err != nil {
		return nil, err
	}
	policies, err := tx.policiesInReach(r, policy)
	if err != nil {
		return nil, err
	}
	found := &signs{Signs: workflow.NewSigns(policy.FailureCategories, policies)}
	if found.detector, err = found.Detector(); err != nil {
		return nil, fmt.Errorf("workflow %d: %w", r.workflowID, err)
	}
	if found.Left > 0 {
		tx.w.log.Warn("too many patterns of retry rules, the rest is looked for only in what is kept of the standard error output",
			"workflow_id", r.workflowID, "patterns", len(found.Stderr)+found.Left, "rest", found.Left)
	}
	if tx.w.signs == nil || len(tx.w.signs) >= maxKnownSigns {
		tx.w.signs = map[int64]*signs{}
	}
	tx.w.signs[r.workflowID], tx.kept = found, true
	return found, nil
}

// policiesInReach are all policies that may apply to a job of a run, in whatever
// queue it runs.
func (tx *Tx) policiesInReach(r *run, policy *workflow.RunPolicy) ([]workflow.RetryPolicy, error) {
	source, missing := policySource{tx.row}, &workflow.Policies{}
	all, err := source.resolve(missing, policy.RetryPolicies)
	if err != nil {
		return nil, err
	}
	var refs []workflow.PolicyRef
	err = tx.each(`SELECT policy FROM job_policy WHERE workflow_id = ?`, func(row rowScanner) error {
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
	}, r.workflowID)
	if err == nil {
		err = tx.each(`SELECT DISTINCT name FROM queue_policy`, func(row rowScanner) error {
			var ref workflow.PolicyRef
			err := row.Scan(&ref.Name)
			refs = append(refs, ref)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the policies of workflow %d: %w", r.workflowID, err)
	}
	settings, err := source.settings()
	if err != nil {
		return nil, err
	}
	if settings.DefaultPolicy != "" {
		refs = append(refs, workflow.PolicyRef{Name: settings.DefaultPolicy})
	}
	others, err := source.resolve(missing, refs)
	return append(all, others...), err
}

// policiesChanged has all signs read anew, and told to the runners.
func (tx *Tx) policiesChanged() error {
	tx.w.signs = nil
	ids, err := tx.idsOf(`SELECT DISTINCT workflow_id FROM compute_node WHERE is_active = 1`)
	if err != nil {
		return fmt.Errorf("find the workflows with runners: %w", err)
	}
	for _, id := range ids {
		tx.ready(id)
	}
	return nil
}

// categorize finds the category of a failed attempt. What the runner has found
// stands; where it has not looked, what came with the report is looked at.
func (f *finisher) categorize(e *ending) error {
	s, err := f.tx.signs(f.run)
	if err != nil {
		return err
	}
	evidence := e.evidence
	if evidence == nil { // a torc client's word
		evidence = &workflow.Evidence{ExitCode: &e.cause.ReturnCode}
	}
	if workflow.CheckName("category", evidence.Category) != nil || workflow.CheckName("category", evidence.Subcategory) != nil {
		// It names no category of a specification. The attempt counts all the same.
		evidence.Category, evidence.Subcategory, evidence.SignsHash = "", "", ""
	}
	if evidence.Category == "" && evidence.SignsHash != s.Hash {
		s.detector.Categorize(evidence, evidence.StderrTail)
	}
	e.category, e.subcategory = evidence.Category, evidence.Subcategory
	return nil
}

// categoryCounts counts the failed attempts of a run by category.
func categoryCounts(each func(string, func(rowScanner) error, ...any) error, workflowID, runID int64) (map[string]int64, error) {
	var counts map[string]int64
	err := each(`SELECT category, COUNT(*) FROM attempt WHERE workflow_id = ? AND run_id = ? AND status IN (6, 8) AND category != '' GROUP BY category`,
		func(r rowScanner) error {
			var name string
			var n int64
			err := r.Scan(&name, &n)
			if counts == nil {
				counts = map[string]int64{}
			}
			counts[name] = n
			return err
		}, workflowID, runID)
	if err != nil {
		return nil, fmt.Errorf("count the failed attempts of workflow %d by category: %w", workflowID, err)
	}
	return counts, nil
}
