package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
)

// statusCounts returns how many jobs of a workflow are in each status, with
// what this use case has changed.
func (tx *Tx) statusCounts(workflowID int64) (c workflow.Counts, err error) {
	if err := tx.flushCounts(); err != nil {
		return c, err
	}
	rows, err := tx.query(`SELECT status, n FROM job_count WHERE workflow_id = ?`, workflowID)
	if err != nil {
		return c, fmt.Errorf("count the jobs of workflow %d: %w", workflowID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var status workflow.JobStatus
		var n int64
		if err := rows.Scan(&status, &n); err != nil {
			return c, fmt.Errorf("count the jobs of workflow %d: %w", workflowID, err)
		}
		c.ByStatus[status] = n
	}
	return c, rows.Err()
}

// causeCounts adds what the attempts of a run amount to.
func (tx *Tx) causeCounts(r *run, c *workflow.Counts) error {
	if err := tx.flushCauses(); err != nil {
		return err
	}
	rows, err := tx.query(`SELECT cause, n, retried FROM cause_count WHERE workflow_id = ? AND run_id = ?`, r.workflowID, r.runID)
	if err != nil {
		return fmt.Errorf("count the attempts of workflow %d: %w", r.workflowID, err)
	}
	defer rows.Close()
	c.ByCause = map[workflow.CauseKind]int64{}
	for rows.Next() {
		var cause workflow.CauseKind
		var n, retried int64
		if err := rows.Scan(&cause, &n, &retried); err != nil {
			return fmt.Errorf("count the attempts of workflow %d: %w", r.workflowID, err)
		}
		c.ByCause[cause] = n
		c.Retried += retried
	}
	return rows.Err()
}

// endIfOver writes the verdict of a run that has ended: no job is open, or the
// workflow was canceled and no attempt is live.
func (tx *Tx) endIfOver(workflowID int64) error {
	r, err := tx.run(workflowID)
	if err != nil || r.ended {
		return err
	}
	if err := tx.converge(r); err != nil {
		return err
	}
	return tx.endRun(r)
}

// isOver reports whether nothing of a run is open but compensations, or, of a
// canceled one, live.
func (tx *Tx) isOver(r *run) (bool, error) {
	counts, err := tx.statusCounts(r.workflowID)
	if err != nil {
		return false, err
	}
	if counts.WorkflowCanceled = r.canceled; r.canceled || !r.stages {
		return counts.Ended(), nil
	}
	_, compensations, err := tx.countOutside(r.workflowID)
	return counts.Open() == compensations, err
}

// endRun writes the verdict of a run that is over. It counts the jobs of the main
// stage.
func (tx *Tx) endRun(r *run) error {
	if r.ended || tx.givingUp == r.workflowID {
		return nil
	}
	if over, err := tx.isOver(r); err != nil || !over {
		return err
	}
	v, err := tx.mainVerdict(r)
	if err != nil {
		return err
	}
	return tx.writeVerdict(r, v)
}

// mainVerdict judges the jobs of the main stage as they are.
func (tx *Tx) mainVerdict(r *run) (v workflow.Verdict, err error) {
	counts, err := tx.statusCounts(r.workflowID)
	if err != nil {
		return v, err
	}
	counts.WorkflowCanceled, counts.GivenUp = r.canceled, r.givenUp
	if err := tx.causeCounts(r, &counts); err != nil {
		return v, err
	}
	if r.stages {
		if err := stagedCounts(tx.each, r.workflowID, r.runID, &counts); err != nil {
			return v, err
		}
		if counts.EndJob, err = endJobResult(tx.each, r.workflowID, nil); err != nil {
			return v, err
		}
	}
	p, err := r.policy()
	if err != nil {
		return v, err
	}
	success, err := p.Criterion()
	if err != nil {
		return v, fmt.Errorf("read the condition of success of workflow %d: %w", r.workflowID, err)
	}
	if err := patternCounts(tx.each, patternScope{workflowID: r.workflowID}, success, &counts); err != nil {
		return v, err
	}
	if len(p.FailureCategories) > 0 {
		if counts.ByCategory, err = categoryCounts(tx.each, r.workflowID, r.runID); err != nil {
			return workflow.Verdict{}, err
		}
	}
	return workflow.EndVerdict(counts, success), nil
}

// each calls a function for each row of a query.
func (tx *Tx) each(query string, f func(rowScanner) error, args ...any) error {
	rows, err := tx.query(query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// patternScope is where a condition of success looks for jobs: in a stage (nil:
// the main one), with names that begin behind a prefix of so many characters.
type patternScope struct {
	workflowID int64
	stageID    *int64
	prefix     int
}

// patternCounts adds the numbers of jobs that a condition of success names.
func patternCounts(each eachFunc, in patternScope, success *criterion.Expr, c *workflow.Counts) error {
	if success == nil {
		return nil
	}
	c.ByPattern = map[string]workflow.StatusCounts{}
	for _, call := range success.Calls() {
		if _, known := c.ByPattern[call.Argument]; known || !call.IsPattern() {
			continue
		}
		var counts workflow.StatusCounts
		err := each(`SELECT status, COUNT(*) FROM job WHERE workflow_id = ? AND stage_id IS ? AND substr(name, ?) GLOB ? GROUP BY status`, func(r rowScanner) error {
			var status workflow.JobStatus
			var n int64
			err := r.Scan(&status, &n)
			counts[status] = n
			return err
		}, in.workflowID, in.stageID, in.prefix+1, strings.ReplaceAll(call.Argument, "[", "[[]"))
		if err != nil {
			return fmt.Errorf("count the jobs of workflow %d that match %q: %w", in.workflowID, call.Argument, err)
		}
		c.ByPattern[call.Argument] = counts
	}
	return nil
}

// writeVerdict ends a run.
func (tx *Tx) writeVerdict(r *run, v workflow.Verdict) error {
	v.Payload.WorkflowID, v.Payload.RunID, v.Payload.EndGeneration = r.workflowID, r.runID, r.generation
	payload, err := json.Marshal(v.Payload)
	if err != nil {
		return fmt.Errorf("end workflow %d: %w", r.workflowID, err)
	}
	_, err = tx.exec(`INSERT INTO verdict (workflow_id, run_id, generation, type, payload, at_ms) VALUES (?, ?, ?, ?, ?, ?)`,
		r.workflowID, r.runID, r.generation, string(v.EventType), string(payload), tx.nowMS)
	if err != nil {
		return fmt.Errorf("end workflow %d, run %d: %w", r.workflowID, r.runID, err)
	}
	if err := tx.execOne(`UPDATE workflow SET has_ended = 1 WHERE id = ? AND has_ended = 0`, r.workflowID); err != nil {
		return fmt.Errorf("end workflow %d, run %d: %w", r.workflowID, r.runID, err)
	}
	r.ended = true
	tx.changes.Ended = appendNew(tx.changes.Ended, []int64{r.workflowID})
	if err := tx.event(r.workflowID, string(v.EventType), v.Severity, v.Payload); err != nil {
		return err
	}
	if err := tx.compensate(r, v.EventType); err != nil {
		return err
	}
	if v.EventType == workflow.EventWorkflowCanceled {
		return nil
	}
	if v.EventType == workflow.EventWorkflowFailed {
		if err := tx.alert(r, v.Payload.Alert()); err != nil {
			return err
		}
	}
	return tx.triggerEnd(r.workflowID)
}

// clearVerdict lets a run that has ended go on, in a new generation.
func (tx *Tx) clearVerdict(r *run, reason string) error {
	if !r.ended {
		return nil
	}
	if err := r.refuseWhileCompensating(); err != nil {
		return err
	}
	err := tx.execOne(`UPDATE workflow SET has_ended = 0, end_generation = end_generation + 1, given_up = NULL WHERE id = ? AND has_ended = 1`, r.workflowID)
	if err != nil {
		return fmt.Errorf("reopen workflow %d: %w", r.workflowID, err)
	}
	if _, err := tx.unholdEnd(r.workflowID); err != nil {
		return err
	}
	r.ended, r.givenUp = false, ""
	r.generation++
	return tx.event(r.workflowID, string(workflow.EventWorkflowReopened), workflow.SeverityInfo, workflow.WorkflowReopenedPayload{
		Category: workflow.CategoryWorkflow, WorkflowID: r.workflowID, RunID: r.runID, EndGeneration: r.generation, Reason: reason,
	})
}
