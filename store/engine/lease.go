package engine

import (
	"database/sql"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// StartLeases records that the processes of leases have been running since the given times.
func StartLeases(tx *core.Tx, r *view.Run, ls []*core.LeasedJob, startMS []int64) error {
	for i, l := range ls {
		if err := startJob(tx, r.WorkflowID, l.JobID, startMS[i]); err != nil {
			return fmt.Errorf("start job %d: %w", l.JobID, err)
		}
		l.Status, l.StartMS = workflow.Running, sql.NullInt64{Int64: startMS[i], Valid: true}
		if err := announceStart(tx, r, l); err != nil {
			return err
		}
	}
	return nil
}

// announceStart writes the event for the start of an attempt.
func announceStart(tx *core.Tx, r *view.Run, l *core.LeasedJob) error {
	return tx.Event(r.WorkflowID, string(workflow.EventJobStarted), event.SeverityInfo, event.JobStartedPayload{
		JobID: l.JobID, JobName: l.Name, ComputeNodeID: l.RunnerID.Int64, RunID: r.RunID, AttemptID: l.Attempt,
	})
}

// NotStarted takes back the start of a lease. It does not count as an attempt.
func NotStarted(tx *core.Tx, r *view.Run, l *core.LeasedJob) error {
	if err := notStartJob(tx, r.WorkflowID, l.JobID); err != nil {
		return fmt.Errorf("take back the start of job %d: %w", l.JobID, err)
	}
	l.Status, l.StartMS = workflow.Pending, sql.NullInt64{}
	return tx.Event(r.WorkflowID, string(workflow.EventJobNotStarted), event.SeverityWarning, event.JobStartedPayload{
		JobID: l.JobID, JobName: l.Name, ComputeNodeID: l.RunnerID.Int64, RunID: r.RunID, AttemptID: l.Attempt,
	})
}

// ReturnLeases makes claimed jobs that were not started ready again, or cancels those that
// were to be ended. It does not count as an attempt.
func ReturnLeases(tx *core.Tx, r *view.Run, ls []*core.LeasedJob) error {
	var ids []int64
	var canceled []*core.LeasedJob
	for _, l := range ls {
		if l.Canceling && l.CancelFor == "" { // a job without time left expires once it is ready
			canceled = append(canceled, l)
			continue
		}
		ids = append(ids, l.JobID)
		l.Status = workflow.Ready
	}
	if err := cancelClaimed(tx, r, canceled); err != nil || len(ids) == 0 {
		return err
	}
	if err := giveBackJobs(tx, r.WorkflowID, ids); err != nil {
		return fmt.Errorf("give back %d jobs of workflow %d: %w", len(ids), r.WorkflowID, err)
	}
	return BlockAgain(tx, r.WorkflowID, ids)
}

// VoidLeases voids the leases of the live jobs of a workflow that meet a condition: runners
// kill their processes, and reports about them are late. Started attempts are recorded as
// canceled. The caller changes statuses and fences. In the condition, ?1 is the workflow
// and ?2 is id.
func VoidLeases(tx *core.Tx, r *view.Run, condition string, id int64, reason string) error {
	condition = `j.workflow_id = ?1 AND ?2 IS NOT NULL AND j.status IN {live} AND (` + condition + `)`
	runners, err := core.IDsOf(tx, `SELECT DISTINCT compute_node_id FROM job j WHERE compute_node_id IS NOT NULL AND `+condition, r.WorkflowID, id)
	if err != nil {
		return fmt.Errorf("find the runners of workflow %d: %w", r.WorkflowID, err)
	}
	tx.Changes.Runners = core.AppendNew(tx.Changes.Runners, runners)
	c := failure.ClassifyCanceled(reason, workflow.Evidence{})
	n, err := tx.Exec(`INSERT INTO attempt (job_id, run_id, attempt_id, workflow_id, fence, compute_node_id, hostname, start_ms, end_ms,
			status, return_code, cause, confidence, cause_text, action, reason)
		SELECT j.id, ?11, j.attempt_id, j.workflow_id, j.fence, j.compute_node_id, n.hostname, j.start_ms, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
		FROM job j LEFT JOIN compute_node n ON n.id = j.compute_node_id WHERE j.status = {running} AND j.child_id IS NULL AND `+condition+`
		ON CONFLICT DO NOTHING`,
		r.WorkflowID, id, tx.NowMS, int64(c.Status), c.ReturnCode, string(c.Kind), string(c.Confidence), c.Text,
		string(workflow.ActionNone), reason, r.RunID)
	if err != nil {
		return fmt.Errorf("record the canceled attempts of workflow %d: %w", r.WorkflowID, err)
	}
	for range n {
		tx.CountCause(r, c.Kind, &workflow.Decision{})
	}
	return nil
}
