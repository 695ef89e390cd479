package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// AllocationIntent is the intent to ask Slurm for an allocation.
type AllocationIntent struct {
	WorkflowID        int64
	RunID             int64
	IntentID          string // random; the same again means the same allocation
	JobName           string
	SchedulerConfigID *int64
	Request           workflow.AllocationRequest
	Why               string
	SecretHash        []byte
}

// IntendAllocation stores the intent to ask Slurm for an allocation, before
// anybody asks. Storing the same intent again returns what became of it.
func (s *Store) IntendAllocation(_ context.Context, in AllocationIntent) (workflow.Allocation, error) {
	if in.IntentID == "" || in.JobName == "" {
		return workflow.Allocation{}, workflow.Errorf(workflow.CodeInvalid, "an allocation needs an intent id and a job name")
	}
	request, err := json.Marshal(in.Request)
	if err != nil {
		return workflow.Allocation{}, fmt.Errorf("intend an allocation for workflow %d: %w", in.WorkflowID, err)
	}
	var a workflow.Allocation
	err = s.writer.do("intend allocation", func(tx *Tx) (err error) {
		a, err = tx.newestLife(in.IntentID)
		switch {
		case err == nil && a.WorkflowID != in.WorkflowID:
			return workflow.Errorf(workflow.CodeConflict, "intent %s belongs to workflow %d", in.IntentID, a.WorkflowID)
		case err == nil:
			return nil
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("look for intent %s: %w", in.IntentID, err)
		}
		a, err = tx.intend(&in, string(request))
		return err
	})
	return a, err
}

func (tx *Tx) intend(in *AllocationIntent, request string) (a workflow.Allocation, err error) {
	r, err := tx.run(in.WorkflowID)
	if err != nil {
		return a, err
	}
	if err := r.require(in.RunID); err != nil {
		return a, err
	}
	if r.canceled && !r.compensating() {
		return a, workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled: no allocation is asked for", in.WorkflowID)
	}
	id, err := tx.insert(`INSERT INTO allocation (workflow_id, run_id, intent_id, job_name, scheduler_config_id, request, why, secret_hash, state, asked_ms)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'intent', ?)`,
		in.WorkflowID, in.RunID, in.IntentID, in.JobName, in.SchedulerConfigID, request, in.Why, in.SecretHash, tx.nowMS)
	if err != nil {
		return a, fmt.Errorf("insert an allocation of workflow %d: %w", in.WorkflowID, err)
	}
	if a, err = getAllocation(tx, id); err != nil {
		return a, err
	}
	return a, tx.allocationEvent(&a, workflow.EventAllocationAsked, workflow.SeverityInfo, workflow.AllocationPayload{Reason: in.Why})
}

// DoubtAllocation notes that sbatch was run for an intent and that nobody
// knows whether it made a job. Text is what it said.
func (s *Store) DoubtAllocation(_ context.Context, id int64, text string) error {
	return s.writer.do("doubt allocation", func(tx *Tx) error {
		_, err := tx.exec(`UPDATE allocation SET asked_ms = ?, slurm_reason = ? WHERE id = ? AND state = 'intent'`, tx.nowMS, text, id)
		if err != nil {
			return fmt.Errorf("doubt allocation %d: %w", id, err)
		}
		return nil
	})
}

// FoundJob is a Slurm job that bears an intent's name.
type FoundJob struct {
	IntentID     string
	Cluster      string
	SlurmJobID   int64
	RestartCount int64
}

// AdoptAllocation notes which Slurm job an intent has become. A second job of
// one intent, and one of an intent that was given up, is a duplicate: it is
// stored as such, to be canceled. A higher restart count begins another life.
// Telling the same again changes nothing.
func (s *Store) AdoptAllocation(_ context.Context, job FoundJob) (workflow.Allocation, error) {
	var a workflow.Allocation
	err := s.writer.do("adopt allocation", func(tx *Tx) error {
		newest, err := tx.newestLife(job.IntentID)
		if err != nil {
			return fmt.Errorf("look for intent %s: %w", job.IntentID, err)
		}
		a, err = tx.adopt(newest, job)
		return err
	})
	return a, err
}

// adopt returns the allocation that a Slurm job of an intent is: its newest
// life or a duplicate.
func (tx *Tx) adopt(newest workflow.Allocation, job FoundJob) (workflow.Allocation, error) {
	switch {
	case newest.SlurmJobID == job.SlurmJobID && job.RestartCount > newest.RestartCount:
		return tx.requeued(&newest, job.RestartCount)
	case newest.SlurmJobID == job.SlurmJobID:
		return newest, nil
	case newest.SlurmJobID == 0 && newest.IsLive():
		return tx.submitted(newest, job)
	}
	var known int64
	err := tx.row(`SELECT id FROM allocation WHERE intent_id = ? AND slurm_job_id = ? ORDER BY restart_count DESC LIMIT 1`,
		[]any{job.IntentID, job.SlurmJobID}, &known)
	switch {
	case err == nil:
		return getAllocation(tx, known)
	case !errors.Is(err, sql.ErrNoRows):
		return newest, fmt.Errorf("look for Slurm job %d of intent %s: %w", job.SlurmJobID, job.IntentID, err)
	}
	return tx.duplicate(&newest, job)
}

// submitted notes the Slurm job of an intent, for torc's clients as well.
func (tx *Tx) submitted(a workflow.Allocation, job FoundJob) (workflow.Allocation, error) {
	has, err := tx.hasWorkflow(a.WorkflowID)
	if err != nil {
		return a, err
	}
	config := int64(0)
	set(&config, a.SchedulerConfigID)
	if has {
		a.ScheduledComputeNodeID, err = tx.insert(`INSERT INTO scheduled_compute_node (workflow_id, scheduler_id, scheduler_config_id, scheduler_type, status)
			VALUES (?, ?, ?, ?, ?)`, a.WorkflowID, job.SlurmJobID, config, workflow.SchedulerSlurm, workflow.ScheduledPending)
		if err != nil {
			return a, fmt.Errorf("show Slurm job %d of workflow %d: %w", job.SlurmJobID, a.WorkflowID, err)
		}
		err = tx.event(a.WorkflowID, string(workflow.EventSchedulerNodeCreated), workflow.SeverityInfo, map[string]any{
			"category": workflow.CategoryScheduler, "scheduled_compute_node_id": a.ScheduledComputeNodeID, "scheduler_id": job.SlurmJobID,
			"scheduler_config_id": config, "scheduler_type": workflow.SchedulerSlurm, "status": workflow.ScheduledPending,
		})
		if err != nil {
			return a, err
		}
	}
	err = tx.execOne(`UPDATE allocation SET state = 'pending', cluster = ?, slurm_job_id = ?, restart_count = ?, scheduled_compute_node_id = NULLIF(?, 0),
			submit_ms = ?, slurm_reason = '', absent_ms = 0 WHERE id = ? AND state = 'intent'`,
		job.Cluster, job.SlurmJobID, job.RestartCount, a.ScheduledComputeNodeID, tx.nowMS, a.ID)
	if err != nil {
		return a, fmt.Errorf("note that allocation %d is Slurm job %d: %w", a.ID, job.SlurmJobID, err)
	}
	if a, err = getAllocation(tx, a.ID); err != nil {
		return a, err
	}
	return a, tx.allocationEvent(&a, workflow.EventAllocationSubmitted, workflow.SeverityInfo, workflow.AllocationPayload{Reason: a.Why})
}

// duplicate stores a Slurm job that sbatch made once too often.
func (tx *Tx) duplicate(of *workflow.Allocation, job FoundJob) (a workflow.Allocation, err error) {
	why := fmt.Sprintf("its intent is already Slurm job %d", of.SlurmJobID)
	if of.SlurmJobID == 0 {
		why = "its intent had been given up"
	}
	id, err := tx.insert(`INSERT INTO allocation (workflow_id, run_id, intent_id, is_duplicate, job_name, cluster, slurm_job_id, scheduler_config_id,
			request, why, state, asked_ms, submit_ms, cancel_ms, cancel_why)
		SELECT workflow_id, run_id, intent_id, 1, job_name, ?2, ?3, scheduler_config_id, request, why, 'pending', ?4, ?4, ?4, ?5
		FROM allocation WHERE id = ?1`, of.ID, job.Cluster, job.SlurmJobID, tx.nowMS, why)
	if err != nil {
		return a, fmt.Errorf("note Slurm job %d as a duplicate of allocation %d: %w", job.SlurmJobID, of.ID, err)
	}
	tx.changes.Cancels = true
	if a, err = getAllocation(tx, id); err != nil {
		return a, err
	}
	return a, tx.allocationEvent(&a, workflow.EventAllocationCanceling, workflow.SeverityWarning, workflow.AllocationPayload{Reason: why})
}

// IntentsNamed returns the newest lives of the intents whose Slurm jobs bear
// these names, ended ones too.
func (s *Store) IntentsNamed(ctx context.Context, names []string) ([]workflow.Allocation, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("look for intents by name: %w", err)
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+allocationColumns+` FROM allocation a
		WHERE job_name IN (SELECT value FROM json_each(?)) AND is_duplicate = 0
			AND restart_count = (SELECT MAX(b.restart_count) FROM allocation b WHERE b.intent_id = a.intent_id AND b.is_duplicate = 0)`, string(list))
	if err != nil {
		return nil, fmt.Errorf("look for intents by name: %w", err)
	}
	found, err := collect(rows, scanAllocation)
	if err != nil {
		return nil, fmt.Errorf("look for intents by name: %w", err)
	}
	return found, nil
}
