package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// outgrown says why a job that asks for so much more has no place any more: no
// live runner is large enough, and no allocation that could be asked for. Empty if
// there is a place, or nobody knows.
func (f *finisher) outgrown(l *lease, asks asks, grown workflow.ResourceRequirements) (string, error) {
	before, err := asks.class()
	if err != nil {
		return "", fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	asks.requirements = grown
	after, err := asks.class()
	if err != nil {
		return "", fmt.Errorf("grow job %d: %w", l.JobID, err)
	}
	runners, err := f.tx.runnerFacts(l.workflowID)
	if err != nil || workflow.Unplaced(after, runners) == "" {
		return "", err
	}
	switch byHand, err := f.tx.startedByHand(l); {
	case err != nil:
		return "", err
	case byHand && len(runners) == 0: // of a held job: the next one may be anything
		return "", nil
	case byHand:
		for i := range runners { // started again they have time again
			runners[i].Total.TimeLeftSeconds = nil
		}
		return workflow.Unplaced(after, runners), nil
	}
	unplaced := f.tx.w.unplaced
	if unplaced == nil || unplaced(l.workflowID, before) != "" { // not for its growth
		return "", nil
	}
	return unplaced(l.workflowID, after), nil
}

// runnerFacts returns what the live runners of a workflow have.
func (tx *Tx) runnerFacts(workflowID int64) ([]workflow.RunnerFacts, error) {
	rows, err := tx.query(selectRunnerFacts, workflowID)
	if err != nil {
		return nil, fmt.Errorf("look for runners of workflow %d: %w", workflowID, err)
	}
	runners, err := collect(rows, func(r rowScanner) (workflow.RunnerFacts, error) { return scanRunnerFacts(r, tx.nowMS) })
	if err != nil {
		return nil, fmt.Errorf("look for runners of workflow %d: %w", workflowID, err)
	}
	return runners, nil
}

// startedByHand reports whether the runner of a lease is one that somebody has
// started outside of allocations, and nobody asks for allocations.
func (tx *Tx) startedByHand(l *lease) (is bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE id = ?1 AND compute_node_type = 'local' AND allocation_id IS NULL)
		AND NOT EXISTS (SELECT 1 FROM submission WHERE workflow_id = ?2)
		AND NOT EXISTS (SELECT 1 FROM allocation WHERE workflow_id = ?2 AND state != 'ended')`, []any{l.runnerID, l.workflowID}, &is)
	if err != nil {
		return false, fmt.Errorf("look where job %d may run: %w", l.JobID, err)
	}
	return is, nil
}
