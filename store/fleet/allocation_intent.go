package fleet

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// AllocationIntent is the intent to request an allocation from Slurm.
type AllocationIntent struct {
	WorkflowID        int64
	RunID             int64
	IntentID          string // random; identifies the allocation when the intent is sent again
	JobName           string
	SchedulerConfigID *int64
	Request           compute.AllocationRequest
	Why               string
	SecretHash        []byte
}

// Intend stores the intent to request an allocation, before sbatch runs. Repeating it
// returns the allocation as it is now.
func (s Allocations) Intend(ctx context.Context, in AllocationIntent) (compute.Allocation, error) {
	if in.IntentID == "" || in.JobName == "" {
		return compute.Allocation{}, workflow.Errorf(workflow.CodeInvalid, "an allocation needs an intent id and a job name")
	}
	request, err := json.Marshal(in.Request)
	if err != nil {
		return compute.Allocation{}, fmt.Errorf("intend an allocation for workflow %d: %w", in.WorkflowID, err)
	}
	var a compute.Allocation
	err = s.shared.By(ctx).Do("intend allocation", func(tx *core.Tx) (err error) {
		a, err = newestRestart(tx, in.IntentID)
		switch {
		case err == nil && a.WorkflowID != in.WorkflowID:
			return workflow.Errorf(workflow.CodeConflict, "intent %s belongs to workflow %d", in.IntentID, a.WorkflowID)
		case err == nil:
			return nil
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("find intent %s: %w", in.IntentID, err)
		}
		a, err = recordIntent(tx, &in, string(request))
		return err
	})
	return a, err
}

func recordIntent(tx *core.Tx, in *AllocationIntent, request string) (a compute.Allocation, err error) {
	r, err := core.LoadRun(tx, in.WorkflowID)
	if err != nil {
		return a, err
	}
	if err := r.Require(in.RunID); err != nil {
		return a, err
	}
	if r.Canceled && !r.Compensating() {
		return a, workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: no allocation is requested", in.WorkflowID)
	}
	id, err := tx.Insert(`INSERT INTO allocation (workflow_id, run_id, intent_id, job_name, scheduler_config_id, request, why, secret_hash, state, asked_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'intent', ?)`,
		in.WorkflowID, in.RunID, in.IntentID, in.JobName, in.SchedulerConfigID, request, in.Why, in.SecretHash, tx.NowMS)
	if err != nil {
		return a, fmt.Errorf("insert an allocation of workflow %d: %w", in.WorkflowID, err)
	}
	if a, err = getAllocation(tx, id); err != nil {
		return a, err
	}
	return a, engine.AllocationEvent(tx, &a, compute.EventAllocationAsked, event.SeverityInfo, compute.AllocationPayload{Reason: in.Why})
}

// RecordUnclear records that sbatch ran for an intent, but may or may not have created a job. Text
// is its output.
func (s Allocations) RecordUnclear(ctx context.Context, id int64, text string) error {
	return s.shared.By(ctx).Do("record an unclear answer of sbatch", func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE allocation SET asked_ms = ?, slurm_reason = ? WHERE id = ? AND state = 'intent'`, tx.NowMS, text, id)
		return sqlite.Wrap(err, "record the unclear answer about allocation %d", id)
	})
}

// FoundJob is a Slurm job with the name of an intent.
type FoundJob struct {
	IntentID     string
	Cluster      string
	SlurmJobID   int64
	RestartCount int64
}

// Adopt records the Slurm job of an intent. Another job of the same intent, or of one that
// was dropped, is stored as a duplicate, to be canceled. A higher restart count is recorded
// as a restart. Repeating it changes nothing.
func (s Allocations) Adopt(ctx context.Context, job FoundJob) (compute.Allocation, error) {
	var a compute.Allocation
	err := s.shared.By(ctx).Do("adopt allocation", func(tx *core.Tx) error {
		newest, err := newestRestart(tx, job.IntentID)
		if err != nil {
			return fmt.Errorf("find intent %s: %w", job.IntentID, err)
		}
		a, err = adoptSlurmJob(tx, newest, job)
		return err
	})
	return a, err
}

// adoptSlurmJob returns the allocation of an intent's Slurm job: its newest restart, or a
// duplicate.
func adoptSlurmJob(tx *core.Tx, newest compute.Allocation, job FoundJob) (compute.Allocation, error) {
	switch {
	case newest.SlurmJobID == job.SlurmJobID && job.RestartCount > newest.RestartCount:
		return recordRestart(tx, &newest, job.RestartCount)
	case newest.SlurmJobID == job.SlurmJobID:
		return newest, nil
	case newest.SlurmJobID == 0 && newest.IsLive():
		return recordSubmission(tx, newest, job)
	}
	var known int64
	err := tx.Row(`SELECT id FROM allocation WHERE intent_id = ? AND slurm_job_id = ? ORDER BY restart_count DESC LIMIT 1`,
		[]any{job.IntentID, job.SlurmJobID}, &known)
	switch {
	case err == nil:
		return getAllocation(tx, known)
	case !errors.Is(err, sql.ErrNoRows):
		return newest, fmt.Errorf("find Slurm job %d of intent %s: %w", job.SlurmJobID, job.IntentID, err)
	}
	return recordDuplicate(tx, &newest, job)
}

// recordSubmission records the Slurm job of an intent, also for torc's clients.
func recordSubmission(tx *core.Tx, a compute.Allocation, job FoundJob) (compute.Allocation, error) {
	has, err := engine.HasWorkflow(tx, a.WorkflowID)
	if err != nil {
		return a, err
	}
	config := int64(0)
	core.Set(&config, a.SchedulerConfigID)
	if has {
		a.ScheduledComputeNodeID, err = tx.Insert(`INSERT INTO scheduled_compute_node (workflow_id, scheduler_id, scheduler_config_id, scheduler_type, status)
			VALUES (?, ?, ?, ?, ?)`, a.WorkflowID, job.SlurmJobID, config, compute.SchedulerSlurm, compute.ScheduledPending)
		if err != nil {
			return a, fmt.Errorf("record Slurm job %d for clients of workflow %d: %w", job.SlurmJobID, a.WorkflowID, err)
		}
		err = tx.Event(a.WorkflowID, string(workflow.EventSchedulerNodeCreated), event.SeverityInfo, map[string]any{
			"category": event.CategoryScheduler, "scheduled_compute_node_id": a.ScheduledComputeNodeID, "scheduler_id": job.SlurmJobID,
			"scheduler_config_id": config, "scheduler_type": compute.SchedulerSlurm, "status": compute.ScheduledPending,
		})
		if err != nil {
			return a, err
		}
	}
	err = tx.ExecOne(`UPDATE allocation SET state = 'pending', cluster = ?, slurm_job_id = ?, restart_count = ?, scheduled_compute_node_id = NULLIF(?, 0),
			submit_ms = ?, slurm_reason = '', absent_ms = 0 WHERE id = ? AND state = 'intent'`,
		job.Cluster, job.SlurmJobID, job.RestartCount, a.ScheduledComputeNodeID, tx.NowMS, a.ID)
	if err != nil {
		return a, fmt.Errorf("record that allocation %d is Slurm job %d: %w", a.ID, job.SlurmJobID, err)
	}
	if a, err = getAllocation(tx, a.ID); err != nil {
		return a, err
	}
	return a, engine.AllocationEvent(tx, &a, compute.EventAllocationSubmitted, event.SeverityInfo, compute.AllocationPayload{Reason: a.Why})
}

// recordDuplicate stores a duplicate Slurm job of an intent.
func recordDuplicate(tx *core.Tx, of *compute.Allocation, job FoundJob) (a compute.Allocation, err error) {
	why := fmt.Sprintf("its intent is already Slurm job %d", of.SlurmJobID)
	if of.SlurmJobID == 0 {
		why = "its intent had already ended"
	}
	id, err := tx.Insert(`INSERT INTO allocation (workflow_id, run_id, intent_id, is_duplicate, job_name, cluster, slurm_job_id, scheduler_config_id,
			request, why, state, asked_ms, submit_ms, cancel_ms, cancel_why)
		SELECT workflow_id, run_id, intent_id, 1, job_name, ?2, ?3, scheduler_config_id, request, why, 'pending', ?4, ?4, ?4, ?5
		FROM allocation WHERE id = ?1`, of.ID, job.Cluster, job.SlurmJobID, tx.NowMS, why)
	if err != nil {
		return a, fmt.Errorf("record Slurm job %d as a duplicate of allocation %d: %w", job.SlurmJobID, of.ID, err)
	}
	tx.Changes.Cancels = true
	if a, err = getAllocation(tx, id); err != nil {
		return a, err
	}
	return a, engine.AllocationEvent(tx, &a, compute.EventAllocationCanceling, event.SeverityWarning, compute.AllocationPayload{Reason: why})
}
