package engine

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func newAttempts(tx *core.Tx) *sqlite.Bulk {
	return tx.NewBulk("attempt", `job_id, run_id, attempt_id, workflow_id, fence, compute_node_id, hostname, start_ms, end_ms, status, return_code,
		cause, confidence, cause_text, evidence, action, reason, rule, counted, policy_hash, category, subcategory,
		peak_memory_bytes, avg_memory_bytes, peak_cpu_percent, avg_cpu_percent, cpu_seconds, fingerprint`)
}

// newResults inserts results of attempts. It replaces those that a client wrote earlier.
func newResults(tx *core.Tx) *sqlite.Bulk {
	b := tx.NewBulk("result", `job_id, workflow_id, run_id, attempt_id, compute_node_id, return_code, exec_time_minutes, completion_time, status,
		peak_memory_bytes, avg_memory_bytes, peak_cpu_percent, avg_cpu_percent`)
	b.Tail = ` ON CONFLICT (job_id, run_id, attempt_id) DO UPDATE SET compute_node_id = excluded.compute_node_id,
		return_code = excluded.return_code, exec_time_minutes = excluded.exec_time_minutes, completion_time = excluded.completion_time,
		status = excluded.status, peak_memory_bytes = excluded.peak_memory_bytes, avg_memory_bytes = excluded.avg_memory_bytes,
		peak_cpu_percent = excluded.peak_cpu_percent, avg_cpu_percent = excluded.avg_cpu_percent`
	return b
}

// Record collects the attempt and its result; Flush writes them.
func (f *Finisher) Record(l *core.LeasedJob, e *Ending, d *workflow.Decision) error {
	var evidence, alike any
	var measured workflow.Evidence
	if e.Evidence != nil {
		measured = *e.Evidence
		text, err := json.Marshal(e.Evidence)
		if err != nil {
			return fmt.Errorf("write the evidence of job %d: %w", l.JobID, err)
		}
		evidence = string(text)
		if e.Cause.Status.IsUnsuccessful() {
			alike = hold.Fingerprint(e.Cause, measured)
		}
	}
	c := &e.Cause
	f.tx.CountCause(f.Run, c.Kind, d)
	usage := [...]any{orNull(measured.PeakMemoryBytes), orNull(measured.AvgMemoryBytes), orNull(measured.PeakCPUPercent), orNull(measured.AvgCPUPercent)}
	if r := e.Client; r != nil {
		usage = [...]any{r.PeakMemoryBytes, r.AvgMemoryBytes, r.PeakCPUPercent, r.AvgCPUPercent}
	}
	err := f.attempts.Add(l.JobID, f.Run.RunID, l.Attempt, f.Run.WorkflowID, l.Fence, e.Host.ID, e.Host.Hostname, l.StartMS, e.EndMS,
		int64(c.Status), c.ReturnCode, string(c.Kind), string(c.Confidence), c.Text, evidence,
		string(d.Action), d.Reason, d.Rule, d.Counted, d.PolicyHash, e.category, e.subcategory,
		usage[0], usage[1], usage[2], usage[3], orNull(measured.CPUSeconds), alike)
	if err != nil {
		return fmt.Errorf("write attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	if e.Host.ID == nil || e.NoResult {
		return nil // results in torc's API have a compute node
	}
	minutes, completed, status := 0.0, view.Rfc3339(e.EndMS), int64(c.Status)
	if r := e.Client; r != nil {
		minutes, completed, status = r.ExecTimeMinutes, r.CompletionTime, int64(r.Status)
	} else if l.StartMS.Valid {
		minutes = float64(max(0, e.EndMS-l.StartMS.Int64)) / 60_000
	}
	err = f.results.Add(l.JobID, f.Run.WorkflowID, f.Run.RunID, l.Attempt, *e.Host.ID, c.ReturnCode, minutes, completed, status,
		usage[0], usage[1], usage[2], usage[3])
	return sqlite.Wrap(err, "write the result of attempt %d of job %d", l.Attempt, l.JobID)
}

// orNull returns v, or null if it is 0: not measured.
func orNull[T int64 | float64](v T) any {
	if v == 0 {
		return nil
	}
	return v
}
