package view

import (
	"context"
	"encoding/json"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// ActionColumns are the columns that ScanAction reads.
const ActionColumns = `id, workflow_id, trigger_type, action_type, action_config, has_job_ids, trigger_count, required_triggers,
	executed, executed_at, executed_by, persistent, is_recovery, taken_ms`

// ScanAction reads a row of ActionColumns.
func ScanAction(r sqlite.Scanner) (a action.Record, err error) {
	var config string
	var hasJobs bool
	err = r.Scan(&a.ID, &a.WorkflowID, &a.TriggerType, &a.ActionType, &config, &hasJobs, &a.TriggerCount, &a.RequiredTriggers,
		&a.Executed, &a.ExecutedAt, &a.ExecutedBy, &a.Persistent, &a.IsRecovery, &a.TakenMS)
	a.Config = json.RawMessage(config)
	if hasJobs {
		a.JobIDs = []int64{}
	}
	return a, err
}

// Rfc3339 formats a time as torc does: with milliseconds and offset.
func Rfc3339(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000-07:00")
}

// AskedAllocation is an allocation that an action requested, and its outcome.
type AskedAllocation struct {
	ID        int64
	ActionID  int64
	Pool      string
	AskedMS   int64
	EndMS     int64 // 0 while it has not ended
	Cause     compute.AllocationCause
	Refusal   string
	CauseText string
	NodeList  string // as Slurm writes it
	Worked    bool   // a runner in it got a job
}

const listAskedAllocations = `SELECT a.id, json_extract(a.request, '$.action_id') AS action, COALESCE(json_extract(a.request, '$.pool'), ''),
		a.asked_ms, iif(a.state = 'ended', a.end_ms, 0), a.cause, a.refusal, a.cause_text, a.node_list,
		EXISTS (SELECT 1 FROM compute_node n WHERE n.allocation_id = a.id AND n.turn > 0)
	FROM allocation a JOIN workflow w ON w.id = a.workflow_id
	WHERE a.workflow_id = ? AND a.run_id = w.run_id AND a.is_duplicate = 0 AND a.superseded_ms = 0 AND action IS NOT NULL ORDER BY a.id DESC`

func scanAskedAllocation(r sqlite.Scanner) (a AskedAllocation, err error) {
	return a, r.Scan(&a.ID, &a.ActionID, &a.Pool, &a.AskedMS, &a.EndMS, &a.Cause, &a.Refusal, &a.CauseText, &a.NodeList, &a.Worked)
}

// AskedAllocations returns the allocations that actions requested in the current run of a
// workflow: the latest restart of each, newest first.
func (s Actions) AskedAllocations(ctx context.Context, workflowID int64) ([]AskedAllocation, error) {
	all, err := sqlite.SelectContext(ctx, s.DB.Read, scanAskedAllocation, listAskedAllocations, workflowID)
	return all, sqlite.Wrap(err, "list the allocations requested by actions of workflow %d", workflowID)
}
