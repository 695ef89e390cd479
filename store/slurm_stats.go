package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const slurmStatsColumns = `id, workflow_id, job_id, run_id, attempt_id, slurm_job_id, max_rss_bytes, max_vm_size_bytes,
	max_disk_read_bytes, max_disk_write_bytes, ave_cpu_seconds, node_list`

func scanSlurmStats(r rowScanner) (t workflow.SlurmStats, err error) {
	err = r.Scan(&t.ID, &t.WorkflowID, &t.JobID, &t.RunID, &t.AttemptID, &t.SlurmJobID, &t.MaxRSSBytes, &t.MaxVMSizeBytes,
		&t.MaxDiskReadBytes, &t.MaxDiskWriteBytes, &t.AveCPUSeconds, &t.NodeList)
	return t, err
}

// PutSlurmStats stores what Slurm accounted for an attempt. Sent again, it
// replaces what was there.
func (s *Store) PutSlurmStats(_ context.Context, t workflow.SlurmStats) (workflow.SlurmStats, error) {
	err := s.writer.do("put slurm stats", func(tx *Tx) error {
		if err := tx.requireWorkflow(t.WorkflowID); err != nil {
			return err
		}
		if err := tx.requireIn("job", "job", t.WorkflowID, t.JobID); err != nil {
			return err
		}
		return tx.putSlurmStats(&t)
	})
	return t, err
}

func (tx *Tx) putSlurmStats(t *workflow.SlurmStats) error {
	err := tx.row(`INSERT INTO slurm_stats (workflow_id, job_id, run_id, attempt_id, slurm_job_id, max_rss_bytes, max_vm_size_bytes,
			max_disk_read_bytes, max_disk_write_bytes, ave_cpu_seconds, node_list)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (workflow_id, job_id, run_id, attempt_id) DO UPDATE SET
			slurm_job_id = excluded.slurm_job_id, max_rss_bytes = excluded.max_rss_bytes,
			max_vm_size_bytes = excluded.max_vm_size_bytes, max_disk_read_bytes = excluded.max_disk_read_bytes,
			max_disk_write_bytes = excluded.max_disk_write_bytes, ave_cpu_seconds = excluded.ave_cpu_seconds,
			node_list = excluded.node_list
		RETURNING id`,
		[]any{t.WorkflowID, t.JobID, t.RunID, t.AttemptID, t.SlurmJobID, t.MaxRSSBytes, t.MaxVMSizeBytes,
			t.MaxDiskReadBytes, t.MaxDiskWriteBytes, t.AveCPUSeconds, t.NodeList}, &t.ID)
	if err != nil {
		return fmt.Errorf("put slurm stats of job %d: %w", t.JobID, err)
	}
	return nil
}

// AccountSteps stores what Slurm accounted for attempts that a runner has
// reported, and fills in what the reports did not say: an attempt that is a step
// is measured by Slurm alone. Attempts of others are left out. It may be
// repeated.
func (s *Store) AccountSteps(_ context.Context, runnerID int64, steps []workflow.SlurmStats) error {
	return s.writer.do("account steps", func(tx *Tx) error {
		r, err := tx.runner(runnerID)
		if err != nil {
			return err
		}
		for i := range steps {
			steps[i].WorkflowID = r.workflowID
			if err := tx.accountStep(runnerID, &steps[i]); err != nil {
				return fmt.Errorf("account steps of runner %d: %w", runnerID, err)
			}
		}
		return nil
	})
}

func (tx *Tx) accountStep(runnerID int64, t *workflow.SlurmStats) error {
	key := []any{t.JobID, t.RunID, t.AttemptID, runnerID}
	var seconds float64
	err := tx.row(`SELECT max(end_ms - COALESCE(start_ms, end_ms), 1) / 1000.0 FROM attempt
		WHERE job_id = ? AND run_id = ? AND attempt_id = ? AND compute_node_id = ?`, key, &seconds)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for attempt %d of job %d: %w", t.AttemptID, t.JobID, err)
	}
	if err := tx.putSlurmStats(t); err != nil {
		return err
	}
	var percent *float64
	if t.AveCPUSeconds != nil {
		p := 100 * *t.AveCPUSeconds / seconds
		percent = &p
	}
	const measured = ` SET peak_memory_bytes = COALESCE(peak_memory_bytes, ?), peak_cpu_percent = COALESCE(peak_cpu_percent, ?),
		avg_cpu_percent = COALESCE(avg_cpu_percent, ?) WHERE job_id = ? AND run_id = ? AND attempt_id = ? AND compute_node_id = ?`
	args := append([]any{t.MaxRSSBytes, percent, percent}, key...)
	for _, table := range []string{"attempt", "result"} {
		if _, err := tx.exec("UPDATE "+table+measured, args...); err != nil {
			return fmt.Errorf("account attempt %d of job %d: %w", t.AttemptID, t.JobID, err)
		}
	}
	return nil
}

// SlurmStatsFilter says which rows of a workflow are wanted; nil fields do not
// matter.
type SlurmStatsFilter struct {
	WorkflowID int64
	JobID      *int64
	RunID      *int64
	AttemptID  *int64
}

// SlurmStats returns a page of what Slurm accounted for a workflow's attempts,
// by id.
func (s *Store) SlurmStats(ctx context.Context, q SlurmStatsFilter, page Page) ([]workflow.SlurmStats, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	equal(f, "job_id", q.JobID)
	equal(f, "run_id", q.RunID)
	equal(f, "attempt_id", q.AttemptID)
	return readList(ctx, s.read, list{columns: slurmStatsColumns, from: "slurm_stats", filter: f, id: "id", page: page}, scanSlurmStats)
}
