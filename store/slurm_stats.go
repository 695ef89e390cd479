package store

import (
	"context"
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
	})
	return t, err
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
