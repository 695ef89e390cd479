package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// ChosenJob is a job that a user cancels.
type ChosenJob struct {
	ID      int64
	Name    string
	Attempt int64
	From    workflow.JobStatus
}

// CancelJobs cancels jobs at once, with the consequences for their dependents and the run.
// Live ones are among them only if their recovery scripts run; their leases are void.
func CancelJobs(tx *core.Tx, r *view.Run, jobs []ChosenJob, by workflow.Culprit) error {
	if len(jobs) == 0 {
		return nil
	}
	text, err := json.Marshal(by)
	if err != nil {
		return fmt.Errorf("cancel jobs of workflow %d: %w", r.WorkflowID, err)
	}
	list := idsOf(jobs)
	runners, err := core.IDsOf(tx, `SELECT DISTINCT compute_node_id FROM job WHERE id IN (SELECT value FROM json_each(?)) AND status IN {live} AND compute_node_id IS NOT NULL`, list)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", r.WorkflowID, err)
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, runners)
	n, err := cancelChosen(tx, r.WorkflowID, list, string(text))
	if err == nil && n != int64(len(jobs)) {
		err = fmt.Errorf("%w: %d of %d", sqlite.ErrNoRow, n, len(jobs))
	}
	if err != nil {
		return fmt.Errorf("cancel %d jobs of workflow %d: %w", len(jobs), r.WorkflowID, err)
	}
	done := make([]Completed, len(jobs))
	for i, j := range jobs {
		done[i] = Completed{j.ID, j.From, workflow.Canceled}
		p := event.NewJobEndedPayload(j.ID, j.Name, r.RunID, j.Attempt, workflow.Canceled, workflow.Cause{}, by.CanceledReason())
		if err := tx.Event(r.WorkflowID, string(workflow.EventJobCanceled), event.SeverityWarning, p); err != nil {
			return err
		}
	}
	return ReleaseDependents(tx, r.WorkflowID, done)
}

// EndJobs makes the runners of live jobs end them, with the grace time. Each job is canceled
// when its runner reports that, unless it completes meanwhile; none is repeated.
func EndJobs(tx *core.Tx, r *view.Run, jobs []ChosenJob, by workflow.Culprit) error {
	if len(jobs) == 0 {
		return nil
	}
	text, err := json.Marshal(by)
	if err != nil {
		return fmt.Errorf("end jobs of workflow %d: %w", r.WorkflowID, err)
	}
	list := idsOf(jobs)
	runners, err := core.IDsOf(tx, `SELECT DISTINCT compute_node_id FROM job WHERE id IN (SELECT value FROM json_each(?))`, list)
	if err == nil {
		_, err = tx.Exec(`UPDATE job SET cancel_fence = fence, cancel_for = NULL, ended_by = ?2 WHERE id IN (SELECT value FROM json_each(?1)) AND status IN {live}`, list, string(text))
	}
	if err != nil {
		return fmt.Errorf("end %d jobs of workflow %d: %w", len(jobs), r.WorkflowID, err)
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, runners)
	return nil
}

func idsOf(jobs []ChosenJob) string {
	ids := make([]int64, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return sqlite.IDList(slices.Sorted(slices.Values(ids)))
}

// HoldJobs keeps jobs from being claimed, or no longer if h is nil.
func HoldJobs(tx *core.Tx, r *view.Run, jobs []ChosenJob, h *workflow.UserHold) error {
	var text any
	if h != nil {
		b, err := json.Marshal(h)
		if err != nil {
			return fmt.Errorf("hold jobs of workflow %d: %w", r.WorkflowID, err)
		}
		text = string(b)
	}
	if _, err := tx.Exec(`UPDATE job SET user_hold = ?2 WHERE id IN (SELECT value FROM json_each(?1))`, idsOf(jobs), text); err != nil {
		return fmt.Errorf("hold %d jobs of workflow %d: %w", len(jobs), r.WorkflowID, err)
	}
	return Reclassify(tx, r, jobs, func(k *core.ClassKey) { k.Held = h != nil })
}

// Reclassify moves jobs to the claim classes that change makes of theirs. To change twice
// must be the same as once.
func Reclassify(tx *core.Tx, r *view.Run, jobs []ChosenJob, change func(k *core.ClassKey)) error {
	if len(jobs) == 0 {
		return nil
	}
	list := idsOf(jobs)
	classes, err := core.IDsOf(tx, `SELECT DISTINCT class_id FROM job WHERE id IN (SELECT value FROM json_each(?))`, list)
	if err != nil {
		return fmt.Errorf("read the classes of %d jobs: %w", len(jobs), err)
	}
	for _, from := range classes {
		key, err := core.LoadClassKey(tx, from)
		if err != nil {
			return err
		}
		change(&key)
		to, err := core.ClassOf(tx, r.WorkflowID, key)
		if err == nil && to != from {
			_, err = tx.Exec(`UPDATE job SET class_id = ?3 WHERE id IN (SELECT value FROM json_each(?1)) AND class_id = ?2`, list, from, to)
		}
		if err != nil {
			return fmt.Errorf("change the class of %d jobs: %w", len(jobs), err)
		}
	}
	tx.Ready(r.WorkflowID)
	return nil
}
