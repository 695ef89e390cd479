package view

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// AllocationColumns are the columns that ScanAllocation reads.
const AllocationColumns = `id, workflow_id, run_id, intent_id, restart_count, is_duplicate, job_name, cluster, COALESCE(slurm_job_id, 0),
	scheduler_config_id, COALESCE(scheduled_compute_node_id, 0), request, why, state, asked_ms, submit_ms, start_ms, end_ms, limit_ms,
	slurm_state, slurm_reason, node_list, exit_code, absent_ms, over_ms, superseded_ms, taken,
	cancel_ms, cancel_why, cancel_sent_ms, cancel_tries, refusal, cause, confidence, cause_text`

// ScanAllocation reads a row of AllocationColumns.
func ScanAllocation(r sqlite.Scanner) (a compute.Allocation, err error) {
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
	a.NodeLoss = &workflow.SlurmEvidence{}
	err = json.Unmarshal([]byte(taken), a.NodeLoss)
	return a, sqlite.Wrap(err, "read the preemption of allocation %d", a.ID)
}

// Get returns an allocation; CodeNotFound if there is none with this id.
func (s Allocations) Get(ctx context.Context, id int64) (compute.Allocation, error) {
	return ReadOne(ctx, s.DB.Read, "allocation", id, `SELECT `+AllocationColumns+` FROM allocation WHERE id = ?`, ScanAllocation)
}

// AllocationFilter selects allocations of a workflow. Nil fields match all.
type AllocationFilter struct {
	WorkflowID int64
	State      *compute.AllocationState
	SlurmJobID *int64
	Live       bool // only those that have not ended
}

// List returns a page of the allocations of a workflow, and how many match in all.
func (s Allocations) List(ctx context.Context, q AllocationFilter, page sqlite.Page) ([]compute.Allocation, int64, error) {
	if err := RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "slurm_job_id", q.SlurmJobID)
	if q.State != nil {
		f.Add(`state = ?`, string(*q.State))
	}
	if q.Live {
		f.Add(`state != 'ended'`)
	}
	sortable := map[string]string{}
	for _, c := range []string{"run_id", "intent_id", "restart_count", "slurm_job_id", "state", "slurm_state", "asked_ms", "submit_ms",
		"start_ms", "end_ms", "limit_ms", "cause"} {
		sortable[c] = c
	}
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: AllocationColumns, From: "allocation", Filter: f, Sortable: sortable, ID: "id", Page: page,
	}, ScanAllocation)
}

const listLiveAllocations = `SELECT ` + AllocationColumns + ` FROM allocation WHERE state != 'ended' ORDER BY id`

// Live returns the allocations of all workflows that have not ended, by id; also those of
// deleted workflows.
func (s Allocations) Live(ctx context.Context) ([]compute.Allocation, error) {
	all, err := sqlite.SelectContext(ctx, s.DB.Read, ScanAllocation, listLiveAllocations)
	return all, sqlite.Wrap(err, "list live allocations")
}

// OfSecret returns the newest restart of the live allocation whose secret has this hash.
func (s Allocations) OfSecret(ctx context.Context, hash []byte) (compute.Allocation, error) {
	a, err := ScanAllocation(s.DB.Read.QueryRowContext(ctx, `SELECT `+AllocationColumns+` FROM allocation
		WHERE secret_hash = ? AND is_duplicate = 0 AND state != 'ended' ORDER BY restart_count DESC LIMIT 1`, hash))
	if err != nil {
		return a, OrNotFound(err, "allocation", 0)
	}
	return a, nil
}

// AllocationRunner is a runner in an allocation.
type AllocationRunner struct {
	AllocationID int64
	RunnerID     int64
	RunningJobs  int64
	OutputDir    string // absolute
}

// WhereAbandoned selects active allocations whose runners have all left.
const WhereAbandoned = `a.state = 'active' AND EXISTS (SELECT 1 FROM compute_node n WHERE n.allocation_id = a.id)
	AND NOT EXISTS (SELECT 1 FROM compute_node n WHERE n.allocation_id = a.id AND n.is_active = 1)`

// Abandoned returns the ids of the active allocations of all workflows whose runners have
// all left.
func (s Allocations) Abandoned(ctx context.Context) (map[int64]bool, error) {
	ids, err := sqlite.SelectContext(ctx, s.DB.Read, ScanID, `SELECT a.id FROM allocation a WHERE `+WhereAbandoned)
	if err != nil {
		return nil, fmt.Errorf("list allocations without runners: %w", err)
	}
	all := make(map[int64]bool, len(ids))
	for _, id := range ids {
		all[id] = true
	}
	return all, nil
}

// Runners returns the runners that have not left, by live allocation.
func (s Allocations) Runners(ctx context.Context) (map[int64][]AllocationRunner, error) {
	all, err := sqlite.SelectContext(ctx, s.DB.Read, func(r sqlite.Scanner) (n AllocationRunner, err error) {
		return n, r.Scan(&n.AllocationID, &n.RunnerID, &n.OutputDir, &n.RunningJobs)
	}, `SELECT n.allocation_id, n.id, COALESCE(n.output_dir, ''),
			(SELECT COUNT(*) FROM job j WHERE j.compute_node_id = n.id AND j.status = {running})
		FROM allocation a JOIN compute_node n ON n.allocation_id = a.id WHERE a.state != 'ended' AND n.is_active = 1 ORDER BY n.id`)
	if err != nil {
		return nil, fmt.Errorf("list the runners of allocations: %w", err)
	}
	by := map[int64][]AllocationRunner{}
	for _, n := range all {
		by[n.AllocationID] = append(by[n.AllocationID], n)
	}
	return by, nil
}

// Progress counts the jobs of a workflow by how far they are.
type Progress struct {
	Total, Done, Failed, Running int64
}

// ProgressOf returns the progress of workflows that have jobs; failed includes terminated.
func (s Allocations) ProgressOf(ctx context.Context, workflows []int64) (map[int64]Progress, error) {
	all := map[int64]Progress{}
	err := sqlite.EachContext(ctx, s.DB.Read, func(r sqlite.Scanner) error {
		var id int64
		var p Progress
		err := r.Scan(&id, &p.Total, &p.Done, &p.Failed, &p.Running)
		all[id] = p
		return err
	}, `SELECT workflow_id, SUM(n), SUM(iif(status = {completed}, n, 0)), SUM(iif(status IN ({failed}, {terminated}), n, 0)), SUM(iif(status = {running}, n, 0))
		FROM job_count WHERE workflow_id IN (SELECT value FROM json_each(?)) GROUP BY workflow_id`, sqlite.IDList(workflows))
	return all, sqlite.Wrap(err, "read the progress of %d workflows", len(workflows))
}

// IntentsNamed returns the newest restarts of the intents with these Slurm job names, ended
// ones included.
func (s Allocations) IntentsNamed(ctx context.Context, names []string) ([]compute.Allocation, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("find intents by name: %w", err)
	}
	found, err := sqlite.SelectContext(ctx, s.DB.Read, ScanAllocation, `SELECT `+AllocationColumns+` FROM allocation a
		WHERE job_name IN (SELECT value FROM json_each(?)) AND is_duplicate = 0
			AND restart_count = (SELECT MAX(b.restart_count) FROM allocation b WHERE b.intent_id = a.intent_id AND b.is_duplicate = 0)`, string(list))
	return found, sqlite.Wrap(err, "find intents by name")
}

// IntentOfRunner returns the intent of a runner's allocation; empty if it is in none.
func (s Allocations) IntentOfRunner(ctx context.Context, runnerID int64) (intent string, err error) {
	err = s.DB.Read.QueryRowContext(ctx, `SELECT COALESCE(a.intent_id, '') FROM compute_node n LEFT JOIN allocation a ON a.id = n.allocation_id
		WHERE n.id = ?`, runnerID).Scan(&intent)
	return intent, OrNotFound(err, "compute_node", runnerID)
}
