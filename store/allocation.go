package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const allocationColumns = `id, workflow_id, run_id, intent_id, restart_count, is_duplicate, job_name, cluster, COALESCE(slurm_job_id, 0),
	scheduler_config_id, COALESCE(scheduled_compute_node_id, 0), request, why, state, asked_ms, submit_ms, start_ms, end_ms, limit_ms,
	slurm_state, slurm_reason, node_list, exit_code, absent_ms, over_ms, superseded_ms, taken,
	cancel_ms, cancel_why, cancel_sent_ms, cancel_tries, refusal, cause, confidence, cause_text`

func scanAllocation(r rowScanner) (a workflow.Allocation, err error) {
	var request, taken string
	err = r.Scan(&a.ID, &a.WorkflowID, &a.RunID, &a.IntentID, &a.RestartCount, &a.IsDuplicate, &a.JobName, &a.Cluster, &a.SlurmJobID,
		&a.SchedulerConfigID, &a.ScheduledComputeNodeID, &request, &a.Why, &a.State, &a.AskedMS, &a.SubmitMS, &a.StartMS, &a.EndMS, &a.LimitMS,
		&a.SlurmState, &a.SlurmReason, &a.NodeList, &a.ExitCode, &a.AbsentMS, &a.OverMS, &a.SupersededMS, &taken,
		&a.CancelMS, &a.CancelWhy, &a.CancelSentMS, &a.CancelTries, &a.Refusal, &a.Cause, &a.Confidence, &a.CauseText)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal([]byte(request), &a.Request); err != nil {
		return a, fmt.Errorf("read the request of allocation %d: %w", a.ID, err)
	}
	if taken == "" {
		return a, nil
	}
	a.Taken = &workflow.SlurmEvidence{}
	if err := json.Unmarshal([]byte(taken), a.Taken); err != nil {
		return a, fmt.Errorf("read why Slurm takes allocation %d: %w", a.ID, err)
	}
	return a, nil
}

// Allocation returns an allocation.
func (s *Store) Allocation(ctx context.Context, id int64) (workflow.Allocation, error) {
	return readOne(ctx, s.read, "allocation", id, `SELECT `+allocationColumns+` FROM allocation WHERE id = ?`, scanAllocation)
}

func getAllocation(tx *Tx, id int64) (workflow.Allocation, error) {
	return getOne(tx, "allocation", id, `SELECT `+allocationColumns+` FROM allocation WHERE id = ?`, scanAllocation)
}

// AllocationFilter says which allocations of a workflow are wanted; nil fields
// do not matter.
type AllocationFilter struct {
	WorkflowID int64
	State      *workflow.AllocationState
	SlurmJobID *int64
	Live       bool // only those that have not ended
}

// Allocations returns a page of the allocations of a workflow.
func (s *Store) Allocations(ctx context.Context, q AllocationFilter, page Page) ([]workflow.Allocation, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	equal(f, "slurm_job_id", q.SlurmJobID)
	if q.State != nil {
		f.add(`state = ?`, string(*q.State))
	}
	if q.Live {
		f.add(`state != 'ended'`)
	}
	sortable := map[string]string{}
	for _, c := range []string{"run_id", "intent_id", "restart_count", "slurm_job_id", "state", "slurm_state", "asked_ms", "submit_ms",
		"start_ms", "end_ms", "limit_ms", "cause"} {
		sortable[c] = c
	}
	return readList(ctx, s.read, list{
		columns: allocationColumns, from: "allocation", filter: f, sortable: sortable, id: "id", page: page,
	}, scanAllocation)
}

const listLiveAllocations = `SELECT ` + allocationColumns + ` FROM allocation WHERE state != 'ended' ORDER BY id`

// LiveAllocations returns the allocations of all workflows that have not
// ended, those of deleted workflows too, by id.
func (s *Store) LiveAllocations(ctx context.Context) ([]workflow.Allocation, error) {
	rows, err := s.read.QueryContext(ctx, listLiveAllocations)
	if err != nil {
		return nil, fmt.Errorf("list live allocations: %w", err)
	}
	all, err := collect(rows, scanAllocation)
	if err != nil {
		return nil, fmt.Errorf("list live allocations: %w", err)
	}
	return all, nil
}

// AllocationOfSecret returns the newest life of the intent whose runners show
// a secret with this hash, as long as it has not ended.
func (s *Store) AllocationOfSecret(ctx context.Context, hash []byte) (workflow.Allocation, error) {
	a, err := scanAllocation(s.read.QueryRowContext(ctx, `SELECT `+allocationColumns+` FROM allocation
		WHERE secret_hash = ? AND is_duplicate = 0 AND state != 'ended' ORDER BY restart_count DESC LIMIT 1`, hash))
	if err != nil {
		return a, orNotFound(err, "allocation", 0)
	}
	return a, nil
}

// AllocationRunner is a runner that lives in an allocation.
type AllocationRunner struct {
	AllocationID int64
	RunnerID     int64
	RunningJobs  int64
	OutputDir    string // absolute
}

// whereAbandoned is of active allocations that had runners, and whose runners have
// all left: nothing comes of them any more.
const whereAbandoned = `a.state = 'active' AND EXISTS (SELECT 1 FROM compute_node n WHERE n.allocation_id = a.id)
	AND NOT EXISTS (SELECT 1 FROM compute_node n WHERE n.allocation_id = a.id AND n.is_active = 1)`

// AbandonedAllocations returns the ids of the active allocations of all workflows
// whose runners have all left.
func (s *Store) AbandonedAllocations(ctx context.Context) (map[int64]bool, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT a.id FROM allocation a WHERE `+whereAbandoned)
	if err != nil {
		return nil, fmt.Errorf("list allocations without runners: %w", err)
	}
	ids, err := collect(rows, scanID)
	if err != nil {
		return nil, fmt.Errorf("list allocations without runners: %w", err)
	}
	all := make(map[int64]bool, len(ids))
	for _, id := range ids {
		all[id] = true
	}
	return all, nil
}

// AllocationRunners returns the runners of live allocations that have not left,
// by allocation.
func (s *Store) AllocationRunners(ctx context.Context) (map[int64][]AllocationRunner, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT n.allocation_id, n.id, COALESCE(n.output_dir, ''),
			(SELECT COUNT(*) FROM job j WHERE j.compute_node_id = n.id AND j.status = 4)
		FROM allocation a JOIN compute_node n ON n.allocation_id = a.id WHERE a.state != 'ended' AND n.is_active = 1 ORDER BY n.id`)
	if err != nil {
		return nil, fmt.Errorf("list the runners of allocations: %w", err)
	}
	all, err := collect(rows, func(r rowScanner) (n AllocationRunner, err error) {
		return n, r.Scan(&n.AllocationID, &n.RunnerID, &n.OutputDir, &n.RunningJobs)
	})
	if err != nil {
		return nil, fmt.Errorf("list the runners of allocations: %w", err)
	}
	by := map[int64][]AllocationRunner{}
	for _, n := range all {
		by[n.AllocationID] = append(by[n.AllocationID], n)
	}
	return by, nil
}

// Progress is how many jobs of a workflow there are, and how far they are.
type Progress struct {
	Total, Done, Failed, Running int64
}

// ProgressOf returns the progress of workflows; failed are those that failed or
// were terminated. Workflows without jobs are left out.
func (s *Store) ProgressOf(ctx context.Context, workflows []int64) (map[int64]Progress, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT workflow_id, SUM(n), SUM(iif(status = 5, n, 0)), SUM(iif(status IN (6, 8), n, 0)), SUM(iif(status = 4, n, 0))
		FROM job_count WHERE workflow_id IN (SELECT value FROM json_each(?)) GROUP BY workflow_id`, idList(workflows))
	if err != nil {
		return nil, fmt.Errorf("read the progress of %d workflows: %w", len(workflows), err)
	}
	defer rows.Close()
	all := map[int64]Progress{}
	for rows.Next() {
		var id int64
		var p Progress
		if err := rows.Scan(&id, &p.Total, &p.Done, &p.Failed, &p.Running); err != nil {
			return nil, fmt.Errorf("read the progress of %d workflows: %w", len(workflows), err)
		}
		all[id] = p
	}
	return all, rows.Err()
}

// hasWorkflow reports whether a workflow is there and visible: allocations may
// outlive theirs.
func (tx *Tx) hasWorkflow(id int64) (has bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 0)`, []any{id}, &has)
	return has, err
}

// allocationEvent notes what happened to an allocation, if its workflow is
// still there.
func (tx *Tx) allocationEvent(a *workflow.Allocation, kind workflow.EventType, severity workflow.Severity, p workflow.AllocationPayload) error {
	tx.changes.Allocations = true
	has, err := tx.hasWorkflow(a.WorkflowID)
	if err != nil || !has {
		return err
	}
	p.Category, p.AllocationID, p.SlurmJobID, p.RestartCount = workflow.CategoryScheduler, a.ID, a.SlurmJobID, a.RestartCount
	if p.State == "" {
		p.State = a.State
	}
	return tx.event(a.WorkflowID, string(kind), severity, p)
}

// showScheduled writes an allocation's status where torc's clients look for it.
func (tx *Tx) showScheduled(a *workflow.Allocation, status string) error {
	if a.ScheduledComputeNodeID == 0 {
		return nil
	}
	// A client may have deleted the row.
	_, err := tx.exec(`UPDATE scheduled_compute_node SET status = ? WHERE id = ? AND status != ?`, status, a.ScheduledComputeNodeID, status)
	if err != nil {
		return fmt.Errorf("show allocation %d as %s: %w", a.ID, status, err)
	}
	return nil
}

// newestLife returns the newest life of an intent; sql.ErrNoRows if there is
// none.
func (tx *Tx) newestLife(intentID string) (workflow.Allocation, error) {
	stmt, err := tx.stmt(`SELECT ` + allocationColumns + ` FROM allocation WHERE intent_id = ? AND is_duplicate = 0 ORDER BY restart_count DESC LIMIT 1`)
	if err != nil {
		return workflow.Allocation{}, err
	}
	return scanAllocation(stmt.QueryRowContext(context.Background(), intentID))
}
