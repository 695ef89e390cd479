package view

import (
	"context"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

const selectAttemptUses = `SELECT j.id, j.name, t.status, t.cause, COALESCE(t.end_ms - t.start_ms, 0), t.cpu_seconds, t.avg_cpu_percent, t.peak_cpu_percent, t.peak_memory_bytes,
		q.num_cpus, q.num_gpus, q.num_nodes, q.memory_bytes, q.runtime_s
	FROM job j JOIN attempt t ON t.job_id = j.id JOIN claim_class k ON k.id = j.class_id JOIN resource_requirements q ON q.id = k.requirements_id
	WHERE j.workflow_id = ?1 AND (?2 IS NULL OR t.run_id = ?2) ORDER BY j.id, t.run_id, t.attempt_id`

// AttemptUses calls a function for each attempt of a workflow that has ended, of one run if it is
// given. It returns CodeNotFound for an unknown workflow.
func (s Jobs) AttemptUses(ctx context.Context, workflowID int64, run *int64, use func(*usage.Attempt)) error {
	if err := RequireVisible(ctx, s.DB, workflowID); err != nil {
		return err
	}
	_, err := sqlite.SelectContext(ctx, s.DB.Read, func(r sqlite.Scanner) (none struct{}, err error) {
		var a usage.Attempt
		var ms int64
		var average *float64
		if err := r.Scan(&a.JobID, &a.JobName, &a.Status, &a.Cause, &ms, &a.CPUSeconds, &average, &a.PeakCPUPercent, &a.PeakMemoryBytes,
			&a.CPUs, &a.GPUs, &a.Nodes, &a.MemoryBytes, &a.RuntimeSeconds); err != nil {
			return none, err
		}
		a.Seconds = float64(max(ms, 0)) / 1000
		if a.CPUSeconds == nil && average != nil {
			a.CPUSeconds = new(*average / 100 * a.Seconds)
		}
		use(&a)
		return none, nil
	}, selectAttemptUses, workflowID, run)
	return sqlite.Wrap(err, "read the attempts of workflow %d", workflowID)
}
