package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// weighOOM adds to a report what the job's policies say about kills for memory of which
// it is in doubt whose they are.
func (f *finisher) weighOOM(l *lease, rep *Report) error {
	if rep.Evidence.OOMShare == nil {
		return nil
	}
	share := *rep.Evidence.OOMShare // the caller's is not to change
	rep.Evidence.OOMShare = &share
	if share.Policy = ""; share.Doubtful <= 0 {
		return nil
	}
	var history workflow.History
	policies, err := f.policies(l.JobID, l.runnerID, &history)
	if err != nil {
		return fmt.Errorf("weigh kills for memory: %w", err)
	}
	share.Policy = policies.OOMPartial()
	return nil
}

// announceDoubt writes the event that names the jobs that are in doubt with this one.
func (f *finisher) announceDoubt(l *lease, e *ending) error {
	if e.evidence == nil || e.evidence.OOMShare == nil || e.evidence.OOMShare.Doubtful <= 0 {
		return nil
	}
	s := e.evidence.OOMShare
	return f.tx.event(f.run.workflowID, string(workflow.EventOOMDoubtful), workflow.SeverityWarning, workflow.OOMDoubtfulPayload{
		Category: workflow.CategoryMemory, JobID: l.JobID, JobName: l.name, RunID: f.run.runID, AttemptID: l.Attempt,
		Kills: s.Doubtful, Likely: s.Likely, Others: append([]string{}, s.Others...), OtherCount: s.OtherCount,
		Policy: cmp.Or(s.Policy, workflow.OOMFailLikely), Status: e.cause.Status, Cause: e.cause.Kind, Text: e.cause.Text,
	})
}

// announceUnattributed writes the event that an allocation was out of memory for Slurm
// and nobody knows which of its jobs lost a process: none has said so, and no runner has
// seen that the kernel killed.
func (tx *Tx) announceUnattributed(a *workflow.Allocation, end *workflow.AllocationEnd) error {
	if end.Cause != workflow.AllocationOOM {
		return nil
	}
	const attempts = ` FROM job j JOIN attempt t ON t.job_id = j.id
		WHERE j.workflow_id = ?1 AND t.compute_node_id IN (SELECT id FROM compute_node WHERE allocation_id = ?2)`
	var known bool
	var count int
	var runID sql.NullInt64
	err := tx.row(`SELECT COALESCE(MAX(t.cause IN ('oom', 'oom_partial') OR COALESCE(json_extract(t.evidence, '$.oom_kills'), 0) > 0), 0),
		COUNT(DISTINCT j.id), MAX(t.run_id)`+attempts, []any{a.WorkflowID, a.ID}, &known, &count, &runID)
	if err != nil {
		return fmt.Errorf("ask whose memory it was in allocation %d: %w", a.ID, err)
	}
	if known || count == 0 {
		return nil
	}
	rows, err := tx.query(`SELECT j.name`+attempts+` GROUP BY j.id ORDER BY j.id LIMIT 10`, a.WorkflowID, a.ID)
	if err != nil {
		return fmt.Errorf("name the jobs of allocation %d: %w", a.ID, err)
	}
	names, err := collect(rows, scanString)
	if err != nil {
		return fmt.Errorf("name the jobs of allocation %d: %w", a.ID, err)
	}
	text := fmt.Sprintf("%s; no job is known to have lost a process, in question are %s", end.Text, strings.Join(names, ", "))
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return tx.event(a.WorkflowID, string(workflow.EventOOMDoubtful), workflow.SeverityWarning, workflow.OOMDoubtfulPayload{
		Category: workflow.CategoryMemory, AllocationID: a.ID, RunID: runID.Int64, Others: names, OtherCount: count, Text: text,
	})
}
