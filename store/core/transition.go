package core

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Only the files transition*.go write the status of jobs. Each statement there names the
// operation of the state machine (workflow/state.go), counts jobs per status, and cannot be
// built, or fails, if the machine does not allow it.

// Transition is a statement with which an operation moves jobs from one status to another.
type Transition struct {
	from, to workflow.JobStatus
	Text     string
}

// NewTransition returns a transition for a statement with {from} and {to} in place of the
// statuses. It panics if op does not lead from one to the other.
func NewTransition(op workflow.Operation, from, to workflow.JobStatus, text string) *Transition {
	if !workflow.CanTransition(from, to, op) {
		panic(fmt.Sprintf("%s does not lead from %s to %s", op, from, to))
	}
	if !strings.Contains(text, "SET status = {to}") || !strings.Contains(text, "status = {from}") {
		panic(fmt.Sprintf("%q does not lead from one status to another", text))
	}
	return &Transition{from, to, strings.NewReplacer("{from}", "{"+from.String()+"}", "{to}", "{"+to.String()+"}").Replace(text)}
}

// Some changes the jobs of a workflow that the statement matches, and returns how many
// there were.
func (t *Transition) Some(tx *Tx, workflowID int64, args ...any) (int64, error) {
	n, err := tx.Exec(t.Text, args...)
	if err != nil {
		return 0, err
	}
	tx.Move(workflowID, t.from, t.to, n)
	return n, nil
}

// All is Some for a statement that must match exactly this many jobs; otherwise it returns
// an error.
func (t *Transition) All(tx *Tx, workflowID int64, jobs int, args ...any) error {
	n, err := t.Some(tx, workflowID, args...)
	if err == nil && n != int64(jobs) {
		err = fmt.Errorf("%w: %d of %d", sqlite.ErrNoRow, n, jobs)
	}
	return err
}

// IDs is Some for a statement that returns the ids of the jobs.
func (t *Transition) IDs(tx *Tx, workflowID int64, args ...any) ([]int64, error) {
	ids, err := IDsOf(tx, t.Text, args...)
	if err != nil {
		return nil, err
	}
	tx.Move(workflowID, t.from, t.to, int64(len(ids)))
	return ids, nil
}

// RequireTransition returns an error if op does not lead from one status to another. It
// accepts equal statuses.
func RequireTransition(op workflow.Operation, from, to workflow.JobStatus) error {
	if from != to && !workflow.CanTransition(from, to, op) {
		return fmt.Errorf("%s does not lead from %s to %s", op, from, to)
	}
	return nil
}

// MoveJobs changes the status of all jobs of a workflow that meet a condition, sets
// columns, and returns how many there were. It fails if the operation does not lead from
// the status of one of them to the new one. The caller updates the gates. In the condition,
// ?1 is the workflow and ?3 the first of args.
func MoveJobs(tx *Tx, op workflow.Operation, workflowID int64, to workflow.JobStatus, columns, condition string, args ...any) (int64, error) {
	args = append([]any{workflowID, int64(to)}, args...)
	// Both statements get the same arguments, so ?2 must occur.
	rows, err := tx.Query(`SELECT status, COUNT(*) FROM job WHERE workflow_id = ?1 AND ?2 IS NOT NULL AND (`+condition+`) GROUP BY status`, args...)
	if err != nil {
		return 0, fmt.Errorf("count jobs of workflow %d: %w", workflowID, err)
	}
	type group struct {
		status workflow.JobStatus
		n      int64
	}
	groups, err := sqlite.Collect(rows, func(r sqlite.Scanner) (g group, err error) { return g, r.Scan(&g.status, &g.n) })
	if err != nil {
		return 0, fmt.Errorf("count jobs of workflow %d: %w", workflowID, err)
	}
	var total int64
	for _, g := range groups {
		if err := RequireTransition(op, g.status, to); err != nil {
			return 0, fmt.Errorf("make %d jobs of workflow %d %s: %w", g.n, workflowID, to, err)
		}
		tx.Move(workflowID, g.status, to, g.n)
		total += g.n
	}
	if total == 0 {
		return 0, nil
	}
	n, err := tx.Exec(`UPDATE job SET status = ?2, `+columns+` WHERE workflow_id = ?1 AND (`+condition+`)`, args...)
	if err == nil && n != total {
		err = fmt.Errorf("%w: %d of %d", sqlite.ErrNoRow, n, total)
	}
	return n, sqlite.Wrap(err, "make jobs of workflow %d %s", workflowID, to)
}
