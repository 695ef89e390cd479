package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// AllocationMember says in which allocation a runner lives, in its own words.
type AllocationMember struct {
	IntentID     string // that its secret belongs to
	Cluster      string
	SlurmJobID   int64
	RestartCount int64
	NodeList     string // of the allocation, as Slurm writes it; empty if it does not say
}

// join finds the allocation that a runner lives in; nil if it lives in none of
// ours. The first job of an intent that reports is the intent's; runners of
// other jobs, of lives that are over, and of allocations that are to go are
// refused. What the runner's call proves is stored in any case. The
// registration is completed with what the allocation was asked for.
func (tx *Tx) join(r *Registration) (id *int64, refusal, err error) {
	m := r.Allocation
	if m == nil {
		return nil, nil, nil
	}
	newest, err := tx.newestLife(m.IntentID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, workflow.Errorf(workflow.CodeForbidden, "nobody asked for an allocation %s", m.IntentID), nil
	case err != nil:
		return nil, nil, fmt.Errorf("look for intent %s: %w", m.IntentID, err)
	case newest.WorkflowID != r.WorkflowID:
		return nil, workflow.Errorf(workflow.CodeForbidden, "allocation %d is of another workflow", newest.ID), nil
	}
	a, err := tx.adopt(newest, FoundJob{IntentID: m.IntentID, Cluster: m.Cluster, SlurmJobID: m.SlurmJobID, RestartCount: m.RestartCount})
	if err != nil {
		return nil, nil, err
	}
	switch {
	case a.IsDuplicate:
		refusal = workflow.Errorf(workflow.CodeConflict, "Slurm job %d is one too many: %s", m.SlurmJobID, a.CancelWhy)
	case !a.IsLive():
		refusal = workflow.Errorf(workflow.CodeConflict, "allocation %d has ended: %s", a.ID, a.CauseText)
	case m.RestartCount < a.RestartCount:
		refusal = workflow.Errorf(workflow.CodeConflict, "life %d of Slurm job %d is over", m.RestartCount, m.SlurmJobID)
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
		r.EndTime = rfc3339(a.LimitMS)
	}
	if r.Scheduler, err = schedulerOf(&a, r.Scheduler); err != nil {
		return nil, nil, err
	}
	return &a.ID, nil, tx.hasRunner(&a, r.EndTime, m.NodeList)
}

// schedulerOf is what a compute node says of its allocation: torc's clients
// follow the id of the scheduled compute node, which the runner does not know.
func schedulerOf(a *workflow.Allocation, said json.RawMessage) (json.RawMessage, error) {
	all := map[string]any{}
	if said != nil {
		if err := json.Unmarshal(said, &all); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "the scheduler of a runner is no object: %v", err)
		}
	}
	all["scheduler_id"], all["slurm_job_id"], all["type"] = a.ScheduledComputeNodeID, fmt.Sprint(a.SlurmJobID), workflow.SchedulerSlurm
	return json.Marshal(all)
}

// hasRunner notes that a runner of an allocation has called: it is active,
// whatever Slurm was seen to say, on the nodes that the runner names, and ends
// when the runner says that it does, until Slurm is seen to say better. It may
// live shorter than it takes to look, and without an end it would have room for
// everything.
func (tx *Tx) hasRunner(a *workflow.Allocation, end, nodes string) error {
	if a.State == workflow.AllocationActive && (a.NodeList != "" || nodes == "") {
		return nil
	}
	var limitMS int64
	if at, err := time.Parse(time.RFC3339, end); err == nil {
		limitMS = at.UnixMilli()
	}
	a.NodeList = cmp.Or(a.NodeList, nodes)
	err := tx.execOne(`UPDATE allocation SET state = 'active', start_ms = iif(start_ms = 0, ?, start_ms), limit_ms = iif(limit_ms = 0, ?, limit_ms), absent_ms = 0,
		node_list = ? WHERE id = ? AND state IN ('pending', 'active')`, tx.nowMS, limitMS, a.NodeList, a.ID)
	if err != nil {
		return fmt.Errorf("note that allocation %d is active: %w", a.ID, err)
	}
	if a.State == workflow.AllocationActive {
		return nil
	}
	a.State = workflow.AllocationActive
	return tx.activated(a)
}
