package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TakeAction has the daemon carry out a triggered action that nobody else has
// claimed. It is false if somebody has. What it has asked for since is counted
// by AskedAllocations.
func (s *Store) TakeAction(_ context.Context, workflowID, id int64) (taken bool, err error) {
	err = s.writer.do("take action", func(tx *Tx) error {
		a, err := getAction(tx, workflowID, id)
		if err != nil {
			return err
		}
		if taken = a.IsPending() && a.TakenMS == 0; !taken {
			return nil
		}
		err = tx.execOne(`UPDATE workflow_action SET executed = 1 - persistent, executed_at = ?, taken_ms = ? WHERE id = ?`, rfc3339(tx.Now()), tx.nowMS, id)
		if err != nil {
			return fmt.Errorf("take action %d: %w", id, err)
		}
		return nil
	})
	return taken, err
}

// AskedAllocation is an allocation that an action has asked for, and what came
// of it.
type AskedAllocation struct {
	ID        int64
	ActionID  int64
	Pool      string
	AskedMS   int64
	EndMS     int64 // 0 while it has not ended
	Cause     workflow.AllocationCause
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

func scanAskedAllocation(r rowScanner) (a AskedAllocation, err error) {
	return a, r.Scan(&a.ID, &a.ActionID, &a.Pool, &a.AskedMS, &a.EndMS, &a.Cause, &a.Refusal, &a.CauseText, &a.NodeList, &a.Worked)
}

// AskedAllocations returns the allocations that actions have asked for in the
// current run of a workflow, the latest lives of each, the newest first.
func (s *Store) AskedAllocations(ctx context.Context, workflowID int64) ([]AskedAllocation, error) {
	rows, err := s.read.QueryContext(ctx, listAskedAllocations, workflowID)
	if err != nil {
		return nil, fmt.Errorf("list what actions of workflow %d have asked for: %w", workflowID, err)
	}
	all, err := collect(rows, scanAskedAllocation)
	if err != nil {
		return nil, fmt.Errorf("list what actions of workflow %d have asked for: %w", workflowID, err)
	}
	return all, nil
}
