package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// presentRunners lists the runners that may have processes of a run, as a JSON
// array. Torc's own cannot be asked.
func (tx *Tx) presentRunners(workflowID int64) (ids string, err error) {
	err = tx.row(`SELECT json_group_array(id) FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND runner_key IS NOT NULL`, []any{workflowID}, &ids)
	if err != nil {
		return "", fmt.Errorf("find the runners of workflow %d: %w", workflowID, err)
	}
	return ids, nil
}

// confirmGone notes that the runner has nothing any more of a run that is to be
// undone, or to have its end job. What was taken from it before is not in a turn
// that is older, or that arrives once more.
func (c *conversation) confirmGone() error {
	if !c.run.stages || c.turn.Number <= c.runner.turn {
		return nil
	}
	run, err := c.tx.run(c.run.workflowID) // its last job may have ended in this turn
	if err != nil {
		return err
	}
	c.run = run
	if len(c.turn.Held) > 0 || c.turn.Dying > 0 {
		return nil
	}
	switch {
	case run.compensation == workflow.CompensationWaiting:
		return c.tx.confirmGone(run, c.runner.id)
	case run.givenUp != "" && !run.ended:
		if err := c.tx.confirmBeforeEnd(run, c.runner.id); err != nil {
			return err
		}
		c.run, err = c.tx.run(run.workflowID)
	}
	return err
}

// holdEnd has the end job of a run that is given up wait for the runners that may
// still end processes of it.
func (tx *Tx) holdEnd(r *run) error {
	if !r.stages {
		return nil
	}
	runners, err := tx.presentRunners(r.workflowID)
	if err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE stage SET waits_for = ?4 WHERE workflow_id = ?1 AND kind = 'end' AND parent_id IS NULL
		AND (state = 'not_started' OR run_id != ?2 OR generation != ?3)`, r.workflowID, r.runID, r.generation, runners)
	if err != nil {
		return fmt.Errorf("let the end job of workflow %d wait: %w", r.workflowID, err)
	}
	return tx.everyRunner(r.workflowID)
}

// unholdEnd has the end job of a workflow wait for no runners, as its run is not
// given up any more. It reports whether it did.
func (tx *Tx) unholdEnd(workflowID int64) (waited bool, err error) {
	n, err := tx.exec(`UPDATE stage SET waits_for = NULL WHERE workflow_id = ? AND waits_for IS NOT NULL`, workflowID)
	if err != nil {
		return false, fmt.Errorf("let the end job of workflow %d wait no longer: %w", workflowID, err)
	}
	return n > 0, nil
}

// confirmBeforeEnd notes that a runner has no process any more of a run that was
// given up: its end job may have waited for that.
func (tx *Tx) confirmBeforeEnd(r *run, runner int64) error {
	n, err := tx.exec(`UPDATE stage SET waits_for = (SELECT json_group_array(value) FROM json_each(waits_for) WHERE value != ?2)
		WHERE workflow_id = ?1 AND waits_for IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(waits_for) WHERE value = ?2)`, r.workflowID, runner)
	if err != nil {
		return fmt.Errorf("note that runner %d has no process of workflow %d: %w", runner, r.workflowID, err)
	}
	if n == 0 {
		return nil
	}
	return tx.endIfOver(r.workflowID)
}

// awaitedRunners selects the runners for which stage s waits.
const awaitedRunners = `json_each(s.waits_for) e JOIN compute_node n ON n.id = e.value AND n.is_active = 1`

// endWaits reports whether the end job of a run waits for runners that may have
// processes of it, as it was given up.
func (tx *Tx) endWaits(r *run) (waits bool, err error) {
	if r.givenUp == "" || r.ended || r.canceled || !r.stages {
		return false, nil
	}
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM stage s WHERE s.workflow_id = ? AND s.waits_for IS NOT NULL AND EXISTS (SELECT 1 FROM `+awaitedRunners+`))`,
		[]any{r.workflowID}, &waits)
	if err != nil {
		return false, fmt.Errorf("look for processes of workflow %d: %w", r.workflowID, err)
	}
	return waits, nil
}

// awaited fills in for whom an end job waits.
func (l *looker) awaited(stages []workflow.Stage) error {
	for i := range stages {
		s := &stages[i]
		if s.Kind != workflow.StageEnd || s.ParentID != nil || s.State != workflow.StageNotStarted {
			continue
		}
		hosts, err := look(l, `SELECT DISTINCT n.hostname FROM stage s JOIN workflow w ON w.id = s.workflow_id AND w.given_up IS NOT NULL AND w.is_canceled = 0, `+
			awaitedRunners+` WHERE s.id = ? ORDER BY n.hostname`, []any{s.ID},
			func(r rowScanner) (host string, err error) { return host, r.Scan(&host) })
		if err != nil {
			return err
		}
		s.WaitsFor = hosts
	}
	return nil
}

// goneRules find end jobs that began before the processes of the run had ended.
var goneRules = []rule{
	{"P11", `SELECT 'stage ' || s.id, 'it waits for runners, and is ' || iif(s.state != 'not_started' AND s.run_id = w.run_id AND s.generation = w.end_generation, s.state, 'not of a run that was given up')
		FROM stage s JOIN workflow w ON w.id = s.workflow_id AND w.is_hidden = 0
		WHERE s.waits_for IS NOT NULL AND (w.given_up IS NULL OR s.state != 'not_started' AND s.run_id = w.run_id AND s.generation = w.end_generation)`},
	{"P11", `SELECT 'job ' || j.id, 'its runner ' || a.compute_node_id || ' began the end of run ' || a.run_id || ' at ' || a.start_ms || ', and attempt ' || o.attempt_id
			|| ' of job ' || o.job_id || ' of that, which was given up, ended at ' || o.end_ms
		FROM workflow w JOIN stage s ON s.workflow_id = w.id AND s.kind = 'end' AND s.parent_id IS NULL JOIN job j ON j.stage_id = s.id
			JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id
			JOIN attempt o ON o.workflow_id = w.id AND o.run_id = a.run_id AND o.compute_node_id = a.compute_node_id
				AND o.reason LIKE '` + givenUpReason + `%' AND o.start_ms < a.start_ms AND o.end_ms > a.start_ms
		WHERE w.given_up IS NOT NULL AND w.is_hidden = 0`},
}

// waitingEnds selects the workflows w whose end jobs wait for runners.
const waitingEnds = `SELECT s.workflow_id FROM stage s JOIN workflow w ON w.id = s.workflow_id
	WHERE s.waits_for IS NOT NULL AND w.given_up IS NOT NULL AND w.has_ended = 0 AND w.is_canceled = 0 AND w.is_hidden = 0`

// LookAfterEnds lets end jobs begin that waited for runners that are gone. It is
// cheap while there are none.
func (s *Store) LookAfterEnds(ctx context.Context) error {
	rows, err := s.read.QueryContext(ctx, waitingEnds+` AND NOT EXISTS (SELECT 1 FROM `+awaitedRunners+`)`)
	if err != nil {
		return fmt.Errorf("look for end jobs that wait: %w", err)
	}
	due, err := collect(rows, scanID)
	if err != nil {
		return fmt.Errorf("look for end jobs that wait: %w", err)
	}
	for _, id := range slices.Compact(due) {
		err := s.writer.do("look after an end job", func(tx *Tx) error { return tx.endIfOver(id) })
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound { // it was deleted meanwhile
			return fmt.Errorf("look after the end job of workflow %d: %w", id, err)
		}
	}
	return nil
}
