package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// InitializeOptions configure InitializeJobs.
type InitializeOptions struct {
	// OnlyUninitialized keeps what actions did at the start of the workflow and for jobs
	// that are all still complete.
	OnlyUninitialized  bool
	ClearEphemeralData bool   // of user data records that are ephemeral
	User               string // for the event
	// Begin is the run that starts; nil: none does. It is rejected unless the workflow is
	// at this run and has not been initialized for it.
	Begin *int64
}

// InitializeJobs initializes the jobs of a run: those without open dependencies become
// ready, the others blocked.
func InitializeJobs(tx *core.Tx, workflowID int64, o InitializeOptions) error {
	r, err := core.LoadRun(tx, workflowID)
	if err != nil {
		return err
	}
	if err := r.RefuseWhileCompensating(); err != nil {
		return err
	}
	if o.Begin != nil {
		if err := requireBegin(tx, r, *o.Begin, o.OnlyUninitialized); err != nil {
			return err
		}
	}
	if o.ClearEphemeralData {
		if _, err := tx.Exec(`UPDATE user_data SET data = NULL WHERE workflow_id = ? AND is_ephemeral = 1 AND data IS NOT NULL`, workflowID); err != nil {
			return fmt.Errorf("clear ephemeral user data of workflow %d: %w", workflowID, err)
		}
	}
	if err := addImpliedDependencies(tx, workflowID); err != nil {
		return err
	}
	if err := storeHashes(tx, workflowID); err != nil {
		return err
	}
	if _, err := resumeRun(tx, r); err != nil {
		return err
	}
	if err := beginAnew(tx, r, o.OnlyUninitialized); err != nil {
		return err
	}
	if err := numberAttempts(tx, r); err != nil {
		return err
	}
	if err := resetActions(tx, workflowID, o.OnlyUninitialized); err != nil {
		return err
	}
	if err := announceInitialized(tx, r, o); err != nil {
		return err
	}
	if err := settleBlocked(tx, r); err != nil {
		return err
	}
	if err := ReopenIfOpen(tx, r); err != nil {
		return err
	}
	if err := startDeadline(tx, r); err != nil {
		return err
	}
	tx.Ready(workflowID)
	return EndIfOver(tx, workflowID)
}

// requireBegin rejects the start of a run that is not the current one, or that was started
// already: it has initialized jobs or, with onlyUninitialized, no uninitialized ones. A
// second start would trigger its actions again.
func requireBegin(tx *core.Tx, r *view.Run, runID int64, onlyUninitialized bool) error {
	if r.RunID != runID {
		return core.AnotherRun(r.WorkflowID, r.RunID, runID)
	}
	begun := `EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND status NOT IN ({uninitialized}, {disabled}))`
	if onlyUninitialized {
		begun = `NOT EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND status = {uninitialized})`
	}
	var is bool
	if err := tx.Row(`SELECT `+begun, []any{r.WorkflowID}, &is); err != nil {
		return fmt.Errorf("check whether run %d of workflow %d has started: %w", runID, r.WorkflowID, err)
	}
	if is {
		return workflow.Errorf(workflow.CodeConflict, "run %d of workflow %d is already initialized", runID, r.WorkflowID).
			WithHint("continue it, or start a new run")
	}
	return nil
}

// mayBegin is a condition for jobs of workflow ?1 whose stage has started.
const mayBegin = `(stage_id IS NULL OR stage_id IN (SELECT id FROM stage WHERE workflow_id = ?1 AND state = 'running'))`

// beginAnew makes the jobs that have to run ready, or blocked behind dependencies, and
// counts the gates. Nothing becomes ready while the workflow is halted.
func beginAnew(tx *core.Tx, r *view.Run, onlyUninitialized bool) error {
	if err := blockBehind(tx, r.WorkflowID, onlyUninitialized); err != nil {
		return err
	}
	if !r.Halted {
		if _, err := core.MoveJobs(tx, workflow.OpInitialize, r.WorkflowID, workflow.Ready, AsNew, `status IN ({uninitialized}, {blocked}, {terminated}, {pending_failed}) AND gate_id IS NULL AND `+mayBegin); err != nil {
			return err
		}
	}
	if _, err := core.MoveJobs(tx, workflow.OpInitialize, r.WorkflowID, workflow.Blocked, AsNew, `status IN ({uninitialized}, {terminated}, {pending_failed}) AND `+view.BesideCompensation); err != nil {
		return err
	}
	for {
		if err := CountGates(tx, r.WorkflowID); err != nil {
			return err
		}
		// A dependency that was added just now may be open.
		n, err := core.MoveJobs(tx, workflow.OpInitialize, r.WorkflowID, workflow.Blocked, AsNew, `(status = {ready} OR skipped_by IS NOT NULL)
			AND gate_id IN (SELECT id FROM gate WHERE workflow_id = ?1 AND open > 0)`)
		if err != nil || n == 0 {
			return err
		}
	}
}

// blockBehind blocks the jobs that depend, directly or not, on a job that has to run or,
// unless only uninitialized jobs matter, is not complete. It walks from gate to gate, so
// that its cost is proportional to the number of dependencies.
func blockBehind(tx *core.Tx, workflowID int64, onlyUninitialized bool) error {
	const stale = `(status IN ({ready}, {completed}, {failed}, {canceled}) OR status = {disabled} AND skipped_by = 0) AND gate_id IS NOT NULL AND ` + view.BesideCompensation
	var some bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM job WHERE workflow_id = ?1 AND `+stale+`)`, []any{workflowID}, &some)
	if err != nil {
		return fmt.Errorf("check for jobs of workflow %d that have run: %w", workflowID, err)
	}
	if !some {
		return nil
	}
	first := `x.status NOT IN ({completed}, {failed}, {canceled}, {disabled})`
	if onlyUninitialized {
		first = `x.status IN ({uninitialized}, {terminated}, {pending_failed})`
	}
	_, err = core.MoveJobs(tx, workflow.OpInitialize, workflowID, workflow.Blocked, AsNew, stale+` AND gate_id IN (`+GatesBehind(first)+`)`)
	return err
}

// GatesBehind selects the gates that depend, directly or not, on a job x of workflow ?1
// that meets a condition.
func GatesBehind(condition string) string {
	return `WITH RECURSIVE reached (gate_id) AS (
			SELECT d.gate_id FROM job x JOIN gate_dependency d ON d.job_id = x.id WHERE x.workflow_id = ?1 AND ` + condition + `
			UNION
			SELECT d.gate_id FROM reached r JOIN job x ON x.gate_id = r.gate_id JOIN gate_dependency d ON d.job_id = x.id)
		SELECT gate_id FROM reached`
}

// numberAttempts sets the number of the next attempt of waiting jobs, and removes earlier
// results from incomplete ones.
func numberAttempts(tx *core.Tx, r *view.Run) error {
	const next = `1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a WHERE a.job_id = job.id AND a.run_id = ?2), 0)`
	_, err := tx.Exec(`UPDATE job SET attempt_id = `+next+` WHERE workflow_id = ?1 AND status IN ({blocked}, {ready}) AND attempt_id != `+next, r.WorkflowID, r.RunID)
	if err != nil {
		return fmt.Errorf("number the attempts of workflow %d: %w", r.WorkflowID, err)
	}
	_, err = tx.Exec(`UPDATE job SET result_id = NULL WHERE workflow_id = ? AND result_id IS NOT NULL AND status NOT BETWEEN {completed} AND {disabled}`, r.WorkflowID)
	return sqlite.Wrap(err, "drop old results of workflow %d", r.WorkflowID)
}

// announceInitialized writes the event of an initialization, with torc's names.
func announceInitialized(tx *core.Tx, r *view.Run, o InitializeOptions) error {
	kind, message := workflow.EventWorkflowReinitialized, "Initialized all jobs"
	if o.OnlyUninitialized {
		kind, message = workflow.EventWorkflowStarted, "Initialized the uninitialized jobs"
	}
	return tx.Event(r.WorkflowID, string(kind), event.SeverityInfo, map[string]any{
		"category": event.CategoryWorkflow, "type": kind, "user": o.User, "message": message, "run_id": r.RunID,
	})
}

// resumeRun continues the jobs of a workflow that was halted and is no longer canceled. It
// reports whether there were such jobs.
func resumeRun(tx *core.Tx, r *view.Run) (resumed bool, err error) {
	if !r.Halted || r.Canceled {
		return false, nil
	}
	if err := tx.ExecOne(`UPDATE workflow SET is_halted = 0 WHERE id = ? AND is_halted = 1`, r.WorkflowID); err != nil {
		return false, fmt.Errorf("resume workflow %d: %w", r.WorkflowID, err)
	}
	r.Halted = false
	return true, nil
}

// SettleAllBlocked releases blocked jobs, including those without dependencies.
func SettleAllBlocked(tx *core.Tx, r *view.Run) error {
	if r.Halted {
		return nil
	}
	free, err := releaseFree(tx, r.WorkflowID)
	if err != nil {
		return fmt.Errorf("release jobs of workflow %d: %w", r.WorkflowID, err)
	}
	if err := CountTriggers(tx, workflow.Blocked, workflow.Ready, free); err != nil {
		return err
	}
	return settleBlocked(tx, r)
}

// settleBlocked releases or skips the blocked jobs without open dependencies.
func settleBlocked(tx *core.Tx, r *view.Run) error {
	gates, err := core.IDsOf(tx, `SELECT id FROM gate g WHERE workflow_id = ? AND open = 0
		AND EXISTS (SELECT 1 FROM job j WHERE j.gate_id = g.id AND j.status = {blocked})`, r.WorkflowID)
	if err != nil {
		return fmt.Errorf("find open gates of workflow %d: %w", r.WorkflowID, err)
	}
	c, err := newCascade(tx, r)
	if err != nil {
		return err
	}
	err = c.follow(nil, nil, gates)
	return sqlite.Wrap(err, "release jobs of workflow %d", r.WorkflowID)
}

// ReopenIfOpen continues an ended run if jobs are open again. A canceled run ends again at
// once, with new counts.
func ReopenIfOpen(tx *core.Tx, r *view.Run) error {
	if !r.Ended {
		return nil
	}
	over, err := isOver(tx, r)
	if err != nil || over && !r.Canceled {
		return err
	}
	if err := clearVerdict(tx, r, "jobs are open again"); err != nil {
		return err
	}
	return EndIfOver(tx, r.WorkflowID)
}
