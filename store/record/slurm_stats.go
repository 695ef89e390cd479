package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

const slurmStatsColumns = `id, workflow_id, job_id, run_id, attempt_id, slurm_job_id, max_rss_bytes, max_vm_size_bytes,
	max_disk_read_bytes, max_disk_write_bytes, ave_cpu_seconds, node_list`

func scanSlurmStats(r sqlite.Scanner) (t compute.SlurmStats, err error) {
	err = r.Scan(&t.ID, &t.WorkflowID, &t.JobID, &t.RunID, &t.AttemptID, &t.SlurmJobID, &t.MaxRSSBytes, &t.MaxVMSizeBytes,
		&t.MaxDiskReadBytes, &t.MaxDiskWriteBytes, &t.AveCPUSeconds, &t.NodeList)
	return t, err
}

// Put stores Slurm's accounting of an attempt. It replaces an earlier record.
func (s SlurmStats) Put(_ context.Context, t compute.SlurmStats) (compute.SlurmStats, error) {
	err := s.shared.Do("put slurm stats", func(tx *core.Tx) error {
		if err := core.RequireWorkflow(tx, t.WorkflowID); err != nil {
			return err
		}
		if err := core.RequireIn(tx, "job", "job", t.WorkflowID, t.JobID); err != nil {
			return err
		}
		return putSlurmStats(tx, &t)
	})
	return t, err
}

func putSlurmStats(tx *core.Tx, t *compute.SlurmStats) error {
	err := tx.Row(`INSERT INTO slurm_stats (workflow_id, job_id, run_id, attempt_id, slurm_job_id, max_rss_bytes, max_vm_size_bytes,
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
	return sqlite.Wrap(err, "put slurm stats of job %d", t.JobID)
}

// AccountSteps stores Slurm's accounting of steps that a runner has reported, and adds it
// to attempts without measurements of their own. Attempts of other runners are ignored. It
// may be repeated.
func (s SlurmStats) AccountSteps(_ context.Context, runnerID int64, steps []compute.SlurmStats) error {
	return s.shared.Do("account steps", func(tx *core.Tx) error {
		r, err := core.LoadRunner(tx, runnerID)
		if err != nil {
			return err
		}
		for i := range steps {
			steps[i].WorkflowID = r.WorkflowID
			if err := accountStep(tx, runnerID, &steps[i]); err != nil {
				return fmt.Errorf("account steps of runner %d: %w", runnerID, err)
			}
		}
		return nil
	})
}

func accountStep(tx *core.Tx, runnerID int64, t *compute.SlurmStats) error {
	key := []any{t.JobID, t.RunID, t.AttemptID, runnerID}
	var seconds float64
	err := tx.Row(`SELECT max(end_ms - COALESCE(start_ms, end_ms), 1) / 1000.0 FROM attempt
		WHERE job_id = ? AND run_id = ? AND attempt_id = ? AND compute_node_id = ?`, key, &seconds)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find attempt %d of job %d: %w", t.AttemptID, t.JobID, err)
	}
	if err := putSlurmStats(tx, t); err != nil {
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
		if _, err := tx.Exec("UPDATE "+table+measured, args...); err != nil {
			return fmt.Errorf("account attempt %d of job %d: %w", t.AttemptID, t.JobID, err)
		}
	}
	return nil
}

// SlurmStatsFilter selects records of a workflow. Nil fields match all.
type SlurmStatsFilter struct {
	WorkflowID int64
	JobID      *int64
	RunID      *int64
	AttemptID  *int64
}

// List returns a page of Slurm's accounting of a workflow's attempts, by id.
func (s SlurmStats) List(ctx context.Context, q SlurmStatsFilter, page sqlite.Page) ([]compute.SlurmStats, int64, error) {
	if err := view.RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "job_id", q.JobID)
	sqlite.Equal(f, "run_id", q.RunID)
	sqlite.Equal(f, "attempt_id", q.AttemptID)
	return sqlite.ReadList(ctx, s.DB.Read, sqlite.List{Columns: slurmStatsColumns, From: "slurm_stats", Filter: f, ID: "id", Page: page}, scanSlurmStats)
}
