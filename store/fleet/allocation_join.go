package fleet

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// joinAllocation returns the allocation of a runner; nil if it is in none of ours. The
// first Slurm job that reports for an intent becomes its job. Runners of duplicates, of
// earlier restarts, and of allocations that have ended or are being canceled are rejected;
// what the call proves is stored even then. The registration is completed with the request
// of the allocation.
func joinAllocation(tx *core.Tx, r *Registration) (id *int64, refusal, err error) {
	m := r.Allocation
	if m == nil {
		return nil, nil, nil
	}
	newest, err := newestRestart(tx, r.IntentID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, workflow.Errorf(workflow.CodeForbidden, "allocation %s was not requested", r.IntentID), nil
	case err != nil:
		return nil, nil, fmt.Errorf("find intent %s: %w", r.IntentID, err)
	case newest.WorkflowID != r.WorkflowID:
		return nil, workflow.Errorf(workflow.CodeForbidden, "allocation %d belongs to another workflow", newest.ID), nil
	}
	a, err := adoptSlurmJob(tx, newest, FoundJob{IntentID: r.IntentID, Cluster: m.Cluster, SlurmJobID: m.SlurmJobID, RestartCount: m.RestartCount})
	if err != nil {
		return nil, nil, err
	}
	switch {
	case a.IsDuplicate:
		refusal = workflow.Errorf(workflow.CodeConflict, "Slurm job %d is a duplicate: %s", m.SlurmJobID, a.CancelWhy)
	case !a.IsLive():
		refusal = workflow.Errorf(workflow.CodeConflict, "allocation %d has ended: %s", a.ID, a.CauseText)
	case m.RestartCount < a.RestartCount:
		refusal = workflow.Errorf(workflow.CodeConflict, "restart %d of Slurm job %d is over", m.RestartCount, m.SlurmJobID)
	case a.CancelMS != 0:
		refusal = workflow.Errorf(workflow.CodeConflict, "allocation %d is being canceled: %s", a.ID, a.CancelWhy)
	}
	if refusal != nil {
		return nil, refusal, nil
	}
	if r.SchedulerConfigID == nil {
		r.SchedulerConfigID = a.SchedulerConfigID
	}
	if r.EndTime == "" && a.LimitMS != 0 {
		r.EndTime = view.Rfc3339(a.LimitMS)
	}
	if r.Scheduler, err = SchedulerOf(&a, r.Scheduler); err != nil {
		return nil, nil, err
	}
	return &a.ID, nil, hasRunner(tx, &a, r.EndTime, m.NodeList)
}

// SchedulerOf returns the scheduler of a compute node as torc's clients expect it: with the
// id of the scheduled compute node, which the runner does not know.
func SchedulerOf(a *compute.Allocation, said any) (map[string]any, error) {
	all, isObject := said.(map[string]any)
	if said != nil && !isObject {
		return nil, workflow.Errorf(workflow.CodeInvalid, "the scheduler of a runner must be an object, not %T", said)
	}
	all = maps.Clone(all)
	if all == nil {
		all = map[string]any{}
	}
	all["scheduler_id"], all["slurm_job_id"], all["type"] = a.ScheduledComputeNodeID, fmt.Sprint(a.SlurmJobID), compute.SchedulerSlurm
	return all, nil
}

// hasRunner records that a runner of an allocation has called. The allocation is then
// active, whatever Slurm last reported, with the nodes and the end that the runner names,
// until Slurm reports better. An allocation may be shorter than the interval between polls,
// and one without an end would have room for every job.
func hasRunner(tx *core.Tx, a *compute.Allocation, end, nodes string) error {
	if a.State == compute.AllocationActive && (a.NodeList != "" || nodes == "") {
		return nil
	}
	var limitMS int64
	if at, err := time.Parse(time.RFC3339, end); err == nil {
		limitMS = at.UnixMilli()
	}
	a.NodeList = cmp.Or(a.NodeList, nodes)
	err := tx.ExecOne(`UPDATE allocation SET state = 'active', start_ms = iif(start_ms = 0, ?, start_ms), limit_ms = iif(limit_ms = 0, ?, limit_ms), absent_ms = 0,
		node_list = ? WHERE id = ? AND state IN ('pending', 'active')`, tx.NowMS, limitMS, a.NodeList, a.ID)
	if err != nil {
		return fmt.Errorf("record that allocation %d is active: %w", a.ID, err)
	}
	if a.State == compute.AllocationActive {
		return nil
	}
	a.State = compute.AllocationActive
	return markActive(tx, a)
}
