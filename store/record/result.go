package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const resultColumns = `r.id, r.job_id, r.workflow_id, r.run_id, r.attempt_id, r.compute_node_id, r.return_code,
	r.exec_time_minutes, r.completion_time, r.status, r.peak_memory_bytes, r.avg_memory_bytes, r.peak_cpu_percent, r.avg_cpu_percent, j.name,
	COALESCE((SELECT a.cause FROM attempt a WHERE a.job_id = r.job_id AND a.run_id = r.run_id AND a.attempt_id = r.attempt_id), '')`

const resultTables = `result r JOIN job j ON j.id = r.job_id`

func scanResult(row sqlite.Scanner) (r workflow.Result, err error) {
	err = row.Scan(&r.ID, &r.JobID, &r.WorkflowID, &r.RunID, &r.AttemptID, &r.ComputeNodeID, &r.ReturnCode,
		&r.ExecTimeMinutes, &r.CompletionTime, &r.Status, &r.PeakMemoryBytes, &r.AvgMemoryBytes, &r.PeakCPUPercent, &r.AvgCPUPercent, &r.JobName, &r.Cause)
	return r, err
}

// Create stores a result and makes it the job's current one. Repeating it returns the
// stored result.
func (s Results) Create(_ context.Context, r workflow.Result) (workflow.Result, error) {
	var created workflow.Result
	err := s.shared.Do("create result", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, r.WorkflowID); err != nil {
			return err
		}
		if err := core.RequireIn(tx, "job", "job", r.WorkflowID, r.JobID); err != nil {
			return err
		}
		if err := core.RequireIn(tx, "compute_node", "compute node", r.WorkflowID, r.ComputeNodeID); err != nil {
			return err
		}
		id, err := insertResult(tx, r)
		if sqlite.IsUnique(err) {
			if id, err = sameResult(tx, r); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if err := tx.ExecOne(`UPDATE job SET result_id = ? WHERE id = ?`, id, r.JobID); err != nil {
			return fmt.Errorf("make result %d the current one of job %d: %w", id, r.JobID, err)
		}
		created, err = getResult(tx, id)
		return err
	})
	return created, err
}

// insertResult stores the result of an attempt.
func insertResult(tx *core.Tx, r workflow.Result) (int64, error) {
	id, err := tx.Insert(`INSERT INTO result (job_id, workflow_id, run_id, attempt_id, compute_node_id, return_code, exec_time_minutes,
		completion_time, status, peak_memory_bytes, avg_memory_bytes, peak_cpu_percent, avg_cpu_percent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.JobID, r.WorkflowID, r.RunID, r.AttemptID, r.ComputeNodeID, r.ReturnCode, r.ExecTimeMinutes,
		r.CompletionTime, r.Status, r.PeakMemoryBytes, r.AvgMemoryBytes, r.PeakCPUPercent, r.AvgCPUPercent)
	return id, sqlite.Wrap(err, "insert the result of job %d, run %d, attempt %d", r.JobID, r.RunID, r.AttemptID)
}

// sameResult returns the id of the stored result of r's attempt; CodeConflict if it differs
// from r.
func sameResult(tx *core.Tx, r workflow.Result) (int64, error) {
	var id, code int64
	var status workflow.JobStatus
	var completed string
	err := tx.Row(`SELECT id, return_code, status, completion_time FROM result WHERE job_id = ? AND run_id = ? AND attempt_id = ?`,
		[]any{r.JobID, r.RunID, r.AttemptID}, &id, &code, &status, &completed)
	if err != nil {
		return 0, fmt.Errorf("read the result of job %d, run %d, attempt %d: %w", r.JobID, r.RunID, r.AttemptID, err)
	}
	if code != r.ReturnCode || status != r.Status || completed != r.CompletionTime {
		return 0, workflow.Errorf(workflow.CodeConflict, "job %d already has another result for run %d, attempt %d", r.JobID, r.RunID, r.AttemptID)
	}
	return id, nil
}

// Get returns a result; CodeNotFound if there is none with this id.
func (s Results) Get(ctx context.Context, id int64) (workflow.Result, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "result", id, `SELECT `+resultColumns+` FROM `+resultTables+` WHERE r.id = ?`, scanResult)
}

// ResultFilter selects results of a workflow. Zero fields match all.
type ResultFilter struct {
	WorkflowID    int64
	JobID         *int64
	RunID         *int64
	ReturnCode    *int64
	Status        *workflow.JobStatus
	ComputeNodeID *int64
	AllRuns       bool // not only the current result of each job
	// Attempts includes attempts without a result, with ID 0: torc records none for an
	// attempt that its runner never reported, or that never had a runner.
	Attempts bool
}

// attemptResults selects the results, and the attempts without one.
const attemptResults = `(SELECT r.id, r.job_id, r.workflow_id, r.run_id, r.attempt_id, r.compute_node_id, r.return_code, r.exec_time_minutes, r.completion_time,
		r.status, r.peak_memory_bytes, r.avg_memory_bytes, r.peak_cpu_percent, r.avg_cpu_percent, COALESCE(a.cause, '') AS cause, COALESCE(a.cause_text, '') AS cause_text
	FROM result r LEFT JOIN attempt a ON a.job_id = r.job_id AND a.run_id = r.run_id AND a.attempt_id = r.attempt_id
	UNION ALL
	SELECT 0, a.job_id, k.workflow_id, a.run_id, a.attempt_id, COALESCE(a.compute_node_id, 0), a.return_code,
		MAX(0, a.end_ms - COALESCE(a.start_ms, a.end_ms)) / 60000.0, strftime('%Y-%m-%dT%H:%M:%fZ', a.end_ms / 1000.0, 'unixepoch'),
		a.status, a.peak_memory_bytes, a.avg_memory_bytes, a.peak_cpu_percent, a.avg_cpu_percent, a.cause, a.cause_text
	FROM job k CROSS JOIN attempt a ON a.job_id = k.id WHERE NOT EXISTS (SELECT 1 FROM result r WHERE r.job_id = a.job_id AND r.run_id = a.run_id AND r.attempt_id = a.attempt_id)) r JOIN job j ON j.id = r.job_id`

// currentAttempt is a condition for the row that describes the job's current state.
const currentAttempt = `(j.result_id = r.id OR r.id = 0 AND j.status BETWEEN {completed} AND {pending_failed} AND r.run_id = (SELECT run_id FROM workflow WHERE id = r.workflow_id))
	AND NOT EXISTS (SELECT 1 FROM attempt n WHERE n.job_id = r.job_id AND (n.run_id, n.attempt_id) > (r.run_id, r.attempt_id))`

const attemptResultColumns = `r.id, r.job_id, r.workflow_id, r.run_id, r.attempt_id, r.compute_node_id, r.return_code,
	r.exec_time_minutes, r.completion_time, r.status, r.peak_memory_bytes, r.avg_memory_bytes, r.peak_cpu_percent, r.avg_cpu_percent, j.name, r.cause, r.cause_text`

const resultTextColumns = resultColumns + `,
	COALESCE((SELECT a.cause_text FROM attempt a WHERE a.job_id = r.job_id AND a.run_id = r.run_id AND a.attempt_id = r.attempt_id), '')`

// lacks reports whether attempts are wanted and some may lack a result. If none does, pages
// are read by the index of results.
func (s Results) lacks(ctx context.Context, q *ResultFilter) (lacking bool, err error) {
	if !q.Attempts {
		return false, nil
	}
	err = s.shared.DB.Read.QueryRowContext(ctx, `SELECT (SELECT COALESCE(SUM(n), 0) FROM cause_count WHERE workflow_id = ?1) != (SELECT COUNT(*) FROM result WHERE workflow_id = ?1)`,
		q.WorkflowID).Scan(&lacking)
	return lacking, sqlite.Wrap(err, "count the results of workflow %d", q.WorkflowID)
}

func scanAttemptResult(row sqlite.Scanner) (r workflow.Result, err error) {
	err = row.Scan(&r.ID, &r.JobID, &r.WorkflowID, &r.RunID, &r.AttemptID, &r.ComputeNodeID, &r.ReturnCode,
		&r.ExecTimeMinutes, &r.CompletionTime, &r.Status, &r.PeakMemoryBytes, &r.AvgMemoryBytes, &r.PeakCPUPercent, &r.AvgCPUPercent, &r.JobName, &r.Cause, &r.CauseText)
	return r, err
}

// List returns a page of the results of a workflow, and how many match in all.
func (s Results) List(ctx context.Context, q ResultFilter, page sqlite.Page) ([]workflow.Result, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`r.workflow_id = ?`, q.WorkflowID)
	sqlite.Equal(f, "r.job_id", q.JobID)
	sqlite.Equal(f, "r.run_id", q.RunID)
	sqlite.Equal(f, "r.return_code", q.ReturnCode)
	sqlite.Equal(f, "r.compute_node_id", q.ComputeNodeID)
	if q.Status != nil {
		f.Add("r.status = ?", int64(*q.Status))
	}
	lacking, err := s.lacks(ctx, &q)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case q.AllRuns:
	case lacking:
		f.Add(currentAttempt)
	default:
		f.Add("j.result_id = r.id")
	}
	sortable := map[string]string{}
	for _, c := range []string{"job_id", "workflow_id", "run_id", "attempt_id", "compute_node_id", "return_code", "exec_time_minutes",
		"completion_time", "status", "peak_memory_bytes", "avg_memory_bytes", "peak_cpu_percent", "avg_cpu_percent"} {
		sortable[c] = "r." + c
	}
	if q.Attempts && !lacking {
		return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
			Columns: resultTextColumns, From: resultTables, Filter: f, Sortable: sortable, ID: "r.id", Page: page,
		}, scanAttemptResult)
	}
	if q.Attempts {
		return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
			Columns: attemptResultColumns, From: attemptResults, Filter: f, Sortable: sortable, ID: "r.id = 0, r.id, r.job_id, r.run_id, r.attempt_id", Page: page,
		}, scanAttemptResult)
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: resultColumns, From: resultTables, Filter: f, Sortable: sortable, ID: "r.id", Page: page,
	}, scanResult)
}

// Update changes a result's run, return code, times and status. Its job cannot change.
func (s Results) Update(_ context.Context, r workflow.Result) (workflow.Result, error) {
	var updated workflow.Result
	err := s.shared.Do("update result", func(tx *core.Tx) (err error) {
		if updated, err = getResult(tx, r.ID); err != nil {
			return err
		}
		if err := core.SameWorkflow("result", r.ID, updated.WorkflowID, r.WorkflowID); err != nil {
			return err
		}
		if updated.JobID != r.JobID {
			return workflow.Errorf(workflow.CodeInvalid, "result %d belongs to job %d, not to job %d", r.ID, updated.JobID, r.JobID)
		}
		err = tx.ExecOne(`UPDATE result SET run_id = ?, return_code = ?, exec_time_minutes = ?, completion_time = ?, status = ? WHERE id = ?`,
			r.RunID, r.ReturnCode, r.ExecTimeMinutes, r.CompletionTime, r.Status, r.ID)
		if sqlite.IsUnique(err) {
			return workflow.Errorf(workflow.CodeConflict, "job %d already has another result for run %d, attempt %d", r.JobID, r.RunID, updated.AttemptID)
		}
		if err != nil {
			return fmt.Errorf("update result %d: %w", r.ID, err)
		}
		updated, err = getResult(tx, r.ID)
		return err
	})
	return updated, err
}

// Delete deletes a result, but not its attempt.
func (s Results) Delete(_ context.Context, id int64) (workflow.Result, error) {
	var deleted workflow.Result
	err := s.shared.Do("delete result", func(tx *core.Tx) (err error) {
		if deleted, err = getResult(tx, id); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE job SET result_id = NULL WHERE id = ? AND result_id = ?`, deleted.JobID, id); err != nil {
			return fmt.Errorf("delete result %d: %w", id, err)
		}
		return tx.ExecOne(`DELETE FROM result WHERE id = ?`, id)
	})
	return deleted, err
}

// DeleteAll deletes all results of a workflow, and returns how many there were.
func (s Results) DeleteAll(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.shared.Do("delete results", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		for _, query := range []string{
			`UPDATE job SET result_id = NULL WHERE workflow_id = ? AND result_id IS NOT NULL`,
			`DELETE FROM result WHERE job_id IN (SELECT id FROM job WHERE workflow_id = ?)`,
		} {
			if n, err = tx.Exec(query, workflowID); err != nil {
				return fmt.Errorf("delete results of workflow %d: %w", workflowID, err)
			}
		}
		return nil
	})
	return n, err
}

func getResult(tx *core.Tx, id int64) (workflow.Result, error) {
	return core.GetOne(tx, "result", id, `SELECT `+resultColumns+` FROM `+resultTables+` WHERE r.id = ?`, scanResult)
}
