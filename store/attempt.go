package store

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func newAttempts(tx *Tx) *bulk {
	return newBulk(tx, "attempt", `job_id, run_id, attempt_id, workflow_id, fence, compute_node_id, hostname, start_ms, end_ms, status, return_code,
		cause, confidence, cause_text, evidence, action, reason, rule, counted, policy_hash, category, subcategory,
		peak_memory_bytes, avg_memory_bytes, peak_cpu_percent, avg_cpu_percent, cpu_seconds`)
}

// newResults writes results of attempts; one that a client wrote before is
// replaced.
func newResults(tx *Tx) *bulk {
	b := newBulk(tx, "result", `job_id, workflow_id, run_id, attempt_id, compute_node_id, return_code, exec_time_minutes, completion_time, status,
		peak_memory_bytes, avg_memory_bytes, peak_cpu_percent, avg_cpu_percent`)
	b.tail = ` ON CONFLICT (job_id, run_id, attempt_id) DO UPDATE SET compute_node_id = excluded.compute_node_id,
		return_code = excluded.return_code, exec_time_minutes = excluded.exec_time_minutes, completion_time = excluded.completion_time,
		status = excluded.status, peak_memory_bytes = excluded.peak_memory_bytes, avg_memory_bytes = excluded.avg_memory_bytes,
		peak_cpu_percent = excluded.peak_cpu_percent, avg_cpu_percent = excluded.avg_cpu_percent`
	return b
}

// record notes the attempt and its result, to be written by flush.
func (f *finisher) record(l *lease, e *ending, d *workflow.Decision) error {
	var evidence any
	var measured workflow.Evidence
	if e.evidence != nil {
		measured = *e.evidence
		text, err := json.Marshal(e.evidence)
		if err != nil {
			return fmt.Errorf("write the evidence of job %d: %w", l.JobID, err)
		}
		evidence = string(text)
	}
	c := &e.cause
	f.tx.countCause(f.run, c.Kind, d)
	usage := [...]any{orNull(measured.PeakMemoryBytes), orNull(measured.AvgMemoryBytes), orNull(measured.PeakCPUPercent), orNull(measured.AvgCPUPercent)}
	if r := e.client; r != nil {
		usage = [...]any{r.PeakMemoryBytes, r.AvgMemoryBytes, r.PeakCPUPercent, r.AvgCPUPercent}
	}
	err := f.attempts.add(l.JobID, f.run.runID, l.Attempt, f.run.workflowID, l.Fence, e.host.id, e.host.hostname, l.startMS, e.endMS,
		int64(c.Status), c.ReturnCode, string(c.Kind), string(c.Confidence), c.Text, evidence,
		string(d.Action), d.Reason, d.Rule, d.Counted, d.PolicyHash, e.category, e.subcategory,
		usage[0], usage[1], usage[2], usage[3], orNull(measured.CPUSeconds))
	if err != nil {
		return fmt.Errorf("write attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	if e.host.id == nil || e.noResult {
		return nil // torc's results belong to a node
	}
	minutes, completed, status := 0.0, rfc3339(e.endMS), int64(c.Status)
	if r := e.client; r != nil {
		minutes, completed, status = r.ExecTimeMinutes, r.CompletionTime, int64(r.Status)
	} else if l.startMS.Valid {
		minutes = float64(max(0, e.endMS-l.startMS.Int64)) / 60_000
	}
	err = f.results.add(l.JobID, f.run.workflowID, f.run.runID, l.Attempt, *e.host.id, c.ReturnCode, minutes, completed, status,
		usage[0], usage[1], usage[2], usage[3])
	if err != nil {
		return fmt.Errorf("write the result of attempt %d of job %d: %w", l.Attempt, l.JobID, err)
	}
	return nil
}

// orNull is a number that is null where nothing was measured.
func orNull[T int64 | float64](v T) any {
	if v == 0 {
		return nil
	}
	return v
}
