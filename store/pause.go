package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// PauseOptions configure a pause.
type PauseOptions struct {
	hold.Pause
	Now bool // jobs that runners hold are ended, and repeated when the pause ends
}

// Paused is the result of a pause.
type Paused struct {
	Hold  hold.ClaimHold
	Began bool // false: it was paused before
	// Live are the jobs that runners hold. Ending is how many of them end because of this
	// pause.
	Live   []LiveJob
	Ending int64
	// Canceled are the pending allocations whose cancellation was requested now, Pending
	// those that keep their place in the queue.
	Canceled, Pending []compute.Allocation
}

// LiveJob is a job that a runner holds, with what it uses.
type LiveJob struct {
	ID      int64
	Name    string
	Status  workflow.JobStatus
	StartMS int64 // 0: it has not started
	CPUs    int64 // on all of its nodes; 0: not declared
	// Unreachable says that it is held by a runner of torc, which cannot be told to end it.
	Unreachable bool
}

// UsedCPUSeconds returns for how long the job has run, times its CPUs.
func (j *LiveJob) UsedCPUSeconds(nowMS int64) int64 {
	if j.StartMS == 0 {
		return 0
	}
	return max(0, nowMS-j.StartMS) / 1000 * j.CPUs
}

// liveJobs selects the live jobs that meet a condition, by id; not those that stand for
// sub-workflows.
const liveJobs = `SELECT j.id, j.name, j.status, COALESCE(j.start_ms, 0), iif(q.name = 'default', 0, q.num_cpus * MAX(1, q.num_nodes)),
		NOT EXISTS (SELECT 1 FROM compute_node n WHERE n.id = j.compute_node_id AND n.runner_key IS NOT NULL)
	FROM job j JOIN claim_class c ON c.id = j.class_id JOIN resource_requirements q ON q.id = c.requirements_id
	WHERE j.status IN {live} AND j.child_id IS NULL AND `

func scanLiveJob(r sqlite.Scanner) (j LiveJob, err error) {
	return j, r.Scan(&j.ID, &j.Name, &j.Status, &j.StartMS, &j.CPUs, &j.Unreachable)
}

// Pause stops new claims of a workflow until its claims are released. Jobs that runners hold
// continue, unless o.Now is set. To pause a paused workflow changes only what the options
// add: jobs that end, and allocations that are canceled. It is CodeConflict if no job of the
// workflow could be claimed any more: the run was canceled or has ended, or only its end job
// is left.
func (s Workflows) Pause(ctx context.Context, id int64, o PauseOptions) (p Paused, err error) {
	err = s.shared.By(ctx).Do("pause workflow", func(tx *core.Tx) (err error) {
		p, err = pause(tx, id, &o)
		return err
	})
	return p, err
}

// ProposePause returns what Pause would return, or its error, and changes nothing.
func (s Workflows) ProposePause(_ context.Context, id int64, o PauseOptions) (p Paused, err error) {
	err = s.shared.Propose("propose a pause", func(tx *core.Tx) (err error) {
		p, err = pause(tx, id, &o)
		return err
	})
	return p, err
}

func pause(tx *core.Tx, id int64, o *PauseOptions) (p Paused, err error) {
	r, err := core.LoadRun(tx, id)
	if err != nil {
		return p, err
	}
	if err := refusePause(tx, r); err != nil {
		return p, err
	}
	if p.Began, err = holdForPause(tx, r, o); err != nil {
		return p, err
	}
	if p.Hold, err = pauseOf(tx, id); err != nil {
		return p, err
	}
	if p.Live, err = sqlite.Select(tx, scanLiveJob, liveJobs+`j.workflow_id = ? ORDER BY j.id`, id); err != nil {
		return p, fmt.Errorf("list the live jobs of workflow %d: %w", id, err)
	}
	if o.Now {
		if p.Ending, err = engine.EndForPause(tx, r); err != nil {
			return p, err
		}
	}
	pending, err := sqlite.Select(tx, view.ScanAllocation, `SELECT `+view.AllocationColumns+` FROM allocation
		WHERE workflow_id = ? AND state IN ('intent', 'pending') AND cancel_ms = 0 AND superseded_ms = 0 ORDER BY id`, id)
	switch {
	case err != nil:
		return p, fmt.Errorf("list the pending allocations of workflow %d: %w", id, err)
	case !o.CancelPending:
		p.Pending = pending
	default:
		p.Canceled = pending
		if _, err := engine.RequestCancel(tx, `state IN ('intent', 'pending') AND workflow_id = ?`, id, p.Hold.Reason); err != nil {
			return p, err
		}
	}
	if !p.Began && p.Ending == 0 && len(p.Canceled) == 0 {
		return p, nil
	}
	return p, core.UserAction(tx, id, o.By, "pause_workflow", map[string]any{
		"reason": o.Why, "now": o.Now, "ending_count": p.Ending, "canceled_allocations": len(p.Canceled),
	})
}

// refusePause rejects a pause that nothing could feel.
func refusePause(tx *core.Tx, r *view.Run) error {
	switch {
	case r.Compensating():
		return workflow.Errorf(workflow.CodeConflict, "run %d of workflow %d has ended and is being undone, which a pause does not stop", r.RunID, r.WorkflowID).
			WithHint("`torc-slurm cancel %d` ends the compensation", r.WorkflowID)
	case r.Canceled:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: no job of it is claimed any more", r.WorkflowID)
	case r.Ended:
		return workflow.Errorf(workflow.CodeConflict, "run %d of workflow %d has ended: there is nothing to pause", r.RunID, r.WorkflowID)
	}
	var ending bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM stage WHERE workflow_id = ? AND kind = 'end' AND parent_id IS NULL AND state = 'running')`, []any{r.WorkflowID}, &ending)
	switch {
	case err != nil:
		return fmt.Errorf("find the end job of workflow %d: %w", r.WorkflowID, err)
	case ending:
		return workflow.Errorf(workflow.CodeConflict, "all other jobs of workflow %d have ended, and its end job is not paused", r.WorkflowID).
			WithHint("wait for it: it has a timeout; `torc-slurm cancel %d` ends the workflow without it", r.WorkflowID)
	}
	return nil
}

// holdForPause holds the claims of a run. It reports whether it was not paused before. A
// later pause may still decide that pending allocations are canceled.
func holdForPause(tx *core.Tx, r *view.Run, o *PauseOptions) (bool, error) {
	h, err := o.Hold()
	if err != nil {
		return false, err
	}
	began, err := core.HoldClaims(tx, r, h)
	if err != nil || began || !o.CancelPending {
		return began, err
	}
	err = tx.ExecOne(`UPDATE claim_hold SET evidence = json_set(evidence, '$.cancel_pending', json('true')) WHERE workflow_id = ? AND kind = 'pause' AND ended_ms = 0`, r.WorkflowID)
	return false, sqlite.Wrap(err, "pause workflow %d", r.WorkflowID)
}

// pauseOf returns the hold of a paused workflow.
func pauseOf(tx *core.Tx, id int64) (hold.ClaimHold, error) {
	return core.GetOne(tx, "pause of workflow", id, `SELECT `+view.ClaimHoldColumns+` FROM claim_hold WHERE workflow_id = ? AND kind = 'pause' AND ended_ms = 0`, view.ScanClaimHold)
}
