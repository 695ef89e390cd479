package engine

import (
	"cmp"
	"database/sql"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// weighOOM adds to a report what the job's policies say about OOM kills that may be its own
// or a neighbour's.
func weighOOM(f *Finisher, l *core.LeasedJob, rep *lease.Report) error {
	if rep.Evidence.OOMShare == nil {
		return nil
	}
	share := *rep.Evidence.OOMShare // the caller's copy must not change
	rep.Evidence.OOMShare = &share
	if share.Policy = ""; share.Doubtful <= 0 {
		return nil
	}
	var history workflow.History
	policies, err := f.Policies(l.JobID, l.RunnerID, &history)
	if err != nil {
		return fmt.Errorf("weigh kills for memory: %w", err)
	}
	share.Policy = policies.OOMPartial()
	return nil
}

// announceDoubt writes the event that names the jobs whose processes may have been killed
// instead.
func announceDoubt(f *Finisher, l *core.LeasedJob, e *Ending) error {
	if e.Evidence == nil || e.Evidence.OOMShare == nil || e.Evidence.OOMShare.Doubtful <= 0 {
		return nil
	}
	s := e.Evidence.OOMShare
	return f.tx.Event(f.Run.WorkflowID, string(workflow.EventOOMDoubtful), event.SeverityWarning, event.OOMDoubtfulPayload{
		Category: event.CategoryMemory, JobID: l.JobID, JobName: l.Name, RunID: f.Run.RunID, AttemptID: l.Attempt,
		Kills: s.Doubtful, Likely: s.Likely, Others: append([]string{}, s.Others...), OtherCount: s.OtherCount,
		Policy: cmp.Or(s.Policy, workflow.OOMFailLikely), Status: e.Cause.Status, Cause: e.Cause.Kind, Text: e.Cause.Text,
	})
}

// AnnounceUnattributed writes the event that Slurm reported an allocation as out of memory
// although no job is known to have lost a process, neither from a report nor from the
// kernel's counters.
func AnnounceUnattributed(tx *core.Tx, a *compute.Allocation, end *compute.AllocationEnd) error {
	if end.Cause != compute.AllocationOOM {
		return nil
	}
	const attempts = ` FROM job j JOIN attempt t ON t.job_id = j.id
		WHERE j.workflow_id = ?1 AND t.compute_node_id IN (SELECT id FROM compute_node WHERE allocation_id = ?2)`
	var known bool
	var count int
	var runID sql.NullInt64
	err := tx.Row(`SELECT COALESCE(MAX(t.cause IN ('oom', 'oom_partial') OR COALESCE(json_extract(t.evidence, '$.oom_kills'), 0) > 0), 0),
		COUNT(DISTINCT j.id), MAX(t.run_id)`+attempts, []any{a.WorkflowID, a.ID}, &known, &count, &runID)
	if err != nil {
		return fmt.Errorf("attribute the OOM kill in allocation %d: %w", a.ID, err)
	}
	if known || count == 0 {
		return nil
	}
	names, err := sqlite.Select(tx, sqlite.ScanString, `SELECT j.name`+attempts+` GROUP BY j.id ORDER BY j.id LIMIT 10`, a.WorkflowID, a.ID)
	if err != nil {
		return fmt.Errorf("name the jobs of allocation %d: %w", a.ID, err)
	}
	text := fmt.Sprintf("%s; which job lost a process is unknown, candidates are %s", end.Text, strings.Join(names, ", "))
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return tx.Event(a.WorkflowID, string(workflow.EventOOMDoubtful), event.SeverityWarning, event.OOMDoubtfulPayload{
		Category: event.CategoryMemory, AllocationID: a.ID, RunID: runID.Int64, Others: names, OtherCount: count, Text: text,
	})
}
