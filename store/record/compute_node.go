package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

const computeNodeColumns = `id, workflow_id, hostname, pid, start_time, end_time, duration_seconds, is_active, num_cpus, memory_gb,
	num_gpus, num_nodes, time_limit, scheduler_config_id, compute_node_type, labels, scheduler,
	sample_count, peak_cpu_percent, avg_cpu_percent, peak_memory_bytes, avg_memory_bytes`

func scanComputeNode(r sqlite.Scanner) (n compute.Node, err error) {
	var labels, scheduler sql.NullString
	err = r.Scan(&n.ID, &n.WorkflowID, &n.Hostname, &n.PID, &n.StartTime, &n.EndTime, &n.DurationSeconds, &n.IsActive, &n.NumCPUs, &n.MemoryGB,
		&n.NumGPUs, &n.NumNodes, &n.TimeLimit, &n.SchedulerConfigID, &n.Type, &labels, &scheduler,
		&n.SampleCount, &n.PeakCPUPercent, &n.AvgCPUPercent, &n.PeakMemoryBytes, &n.AvgMemoryBytes)
	if err != nil {
		return n, err
	}
	if scheduler.Valid {
		n.Scheduler = json.RawMessage(scheduler.String)
	}
	n.Labels, err = workflow.ParseLabels(labels.String)
	return n, err
}

// Create stores a compute node of a torc client and returns it with its id.
func (s ComputeNodes) Create(_ context.Context, n compute.Node) (compute.Node, error) {
	labels, err := workflow.NormalizeLabels(n.Labels)
	if err != nil {
		return n, err
	}
	n.Labels = labels
	if err := workflow.CheckName("host", n.Hostname); err != nil {
		return n, err
	}
	err = s.shared.Do("create compute node", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, n.WorkflowID); err != nil {
			return err
		}
		n.ID, err = tx.Insert(`INSERT INTO compute_node (workflow_id, hostname, pid, start_time, end_time, duration_seconds, is_active, num_cpus,
				memory_gb, num_gpus, num_nodes, time_limit, scheduler_config_id, compute_node_type, labels, scheduler,
				sample_count, peak_cpu_percent, avg_cpu_percent, peak_memory_bytes, avg_memory_bytes)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			n.WorkflowID, n.Hostname, n.PID, n.StartTime, n.EndTime, n.DurationSeconds, n.IsActive, n.NumCPUs,
			n.MemoryGB, n.NumGPUs, n.NumNodes, n.TimeLimit, n.SchedulerConfigID, n.Type, fleet.JoinedLabels(n.Labels), view.Text(n.Scheduler),
			n.SampleCount, n.PeakCPUPercent, n.AvgCPUPercent, n.PeakMemoryBytes, n.AvgMemoryBytes)
		if err != nil {
			return fmt.Errorf("insert compute node %s: %w", n.Hostname, err)
		}
		return engine.ComputeNodeStarted(tx, &n)
	})
	return n, err
}

// Get returns a compute node; CodeNotFound if there is none with this id.
func (s ComputeNodes) Get(ctx context.Context, id int64) (compute.Node, error) {
	return view.ReadOne(ctx, s.shared.DB.Read, "compute_node", id, `SELECT `+computeNodeColumns+` FROM compute_node WHERE id = ?`, scanComputeNode)
}

// ComputeNodeFilter selects compute nodes of a workflow. Nil fields match all.
type ComputeNodeFilter struct {
	WorkflowID             int64
	Hostname               *string // a substring
	IsActive               *bool
	ScheduledComputeNodeID *int64 // scheduler.scheduler_id
}

// List returns a page of the compute nodes of a workflow, and how many match in all.
func (s ComputeNodes) List(ctx context.Context, q ComputeNodeFilter, page sqlite.Page) ([]compute.Node, int64, error) {
	if err := view.RequireVisible(ctx, s.shared.DB, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := sqlite.Where(`workflow_id = ?`, q.WorkflowID)
	sqlite.Contains(f, "hostname", q.Hostname)
	sqlite.Equal(f, "is_active", q.IsActive)
	if q.ScheduledComputeNodeID != nil {
		f.Add(`json_extract(scheduler, '$.scheduler_id') = ?`, *q.ScheduledComputeNodeID)
	}
	sortable := map[string]string{"compute_node_type": "compute_node_type"}
	for _, c := range []string{"workflow_id", "hostname", "pid", "start_time", "end_time", "duration_seconds", "is_active", "num_cpus", "memory_gb",
		"num_gpus", "num_nodes", "time_limit", "scheduler_config_id", "labels", "sample_count",
		"peak_cpu_percent", "avg_cpu_percent", "peak_memory_bytes", "avg_memory_bytes"} {
		sortable[c] = c
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{
		Columns: computeNodeColumns, From: "compute_node", Filter: f, Sortable: sortable, ID: "id", Page: page,
	}, scanComputeNode)
}

// Update changes a compute node and returns it. Its workflow and its labels cannot change.
// A deactivated node loses its jobs.
func (s ComputeNodes) Update(_ context.Context, id, workflowID int64, u compute.NodeUpdate) (compute.Node, error) {
	var n compute.Node
	err := s.shared.Do("update compute node", func(tx *core.Tx) (err error) {
		if n, err = getComputeNode(tx, id); err != nil {
			return err
		}
		if err := core.SameWorkflow("compute_node", id, n.WorkflowID, workflowID); err != nil {
			return err
		}
		wasActive := n.IsActive
		applyNodeUpdate(&n, u)
		if err := workflow.CheckName("host", n.Hostname); u.Hostname != nil && err != nil {
			return err
		}
		err = tx.ExecOne(`UPDATE compute_node SET hostname = ?, pid = ?, start_time = ?, end_time = ?, duration_seconds = ?, is_active = ?,
				num_cpus = ?, memory_gb = ?, num_gpus = ?, num_nodes = ?, time_limit = ?, scheduler_config_id = ?, compute_node_type = ?, scheduler = ?,
				sample_count = ?, peak_cpu_percent = ?, avg_cpu_percent = ?, peak_memory_bytes = ?, avg_memory_bytes = ? WHERE id = ?`,
			n.Hostname, n.PID, n.StartTime, n.EndTime, n.DurationSeconds, n.IsActive,
			n.NumCPUs, n.MemoryGB, n.NumGPUs, n.NumNodes, n.TimeLimit, n.SchedulerConfigID, n.Type, view.Text(n.Scheduler),
			n.SampleCount, n.PeakCPUPercent, n.AvgCPUPercent, n.PeakMemoryBytes, n.AvgMemoryBytes, id)
		if err != nil {
			return fmt.Errorf("update compute node %d: %w", id, err)
		}
		if !wasActive || n.IsActive {
			return nil
		}
		if _, err := fleet.EndLeases(tx, &core.Runner{ID: id, WorkflowID: n.WorkflowID, Hostname: n.Hostname}, "its compute node was deactivated"); err != nil {
			return err
		}
		return engine.ComputeNodeStopped(tx, &n)
	})
	return n, err
}

func applyNodeUpdate(n *compute.Node, u compute.NodeUpdate) {
	core.Set(&n.Hostname, u.Hostname)
	core.Set(&n.PID, u.PID)
	core.Set(&n.StartTime, u.StartTime)
	core.SetOptional(&n.EndTime, u.EndTime)
	core.SetOptional(&n.DurationSeconds, u.DurationSeconds)
	core.Set(&n.IsActive, u.IsActive)
	core.Set(&n.NumCPUs, u.NumCPUs)
	core.Set(&n.MemoryGB, u.MemoryGB)
	core.Set(&n.NumGPUs, u.NumGPUs)
	core.Set(&n.NumNodes, u.NumNodes)
	core.SetOptional(&n.TimeLimit, u.TimeLimit)
	core.SetOptional(&n.SchedulerConfigID, u.SchedulerConfigID)
	core.Set(&n.Type, u.Type)
	if view.Text(u.Scheduler) != nil {
		n.Scheduler = u.Scheduler
	}
	core.SetOptional(&n.SampleCount, u.SampleCount)
	core.SetOptional(&n.PeakCPUPercent, u.PeakCPUPercent)
	core.SetOptional(&n.AvgCPUPercent, u.AvgCPUPercent)
	core.SetOptional(&n.PeakMemoryBytes, u.PeakMemoryBytes)
	core.SetOptional(&n.AvgMemoryBytes, u.AvgMemoryBytes)
}

// Delete deletes a compute node that holds no job, and the results that refer to it.
// Attempts stay.
func (s ComputeNodes) Delete(_ context.Context, id int64) (compute.Node, error) {
	var n compute.Node
	err := s.shared.Do("delete compute node", func(tx *core.Tx) (err error) {
		if n, err = getComputeNode(tx, id); err != nil {
			return err
		}
		return deleteComputeNodes(tx, `id = ?`, id)
	})
	return n, err
}

// DeleteAll deletes all compute nodes of a workflow like Delete, and returns how many there
// were.
func (s ComputeNodes) DeleteAll(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.shared.Do("delete compute nodes", func(tx *core.Tx) (err error) {
		if err := core.RequireWorkflow(tx, workflowID); err != nil {
			return err
		}
		if err := tx.Row(`SELECT COUNT(*) FROM compute_node WHERE workflow_id = ?`, []any{workflowID}, &n); err != nil {
			return fmt.Errorf("count the compute nodes of workflow %d: %w", workflowID, err)
		}
		return deleteComputeNodes(tx, `workflow_id = ?`, workflowID)
	})
	return n, err
}

// deleteComputeNodes deletes the compute nodes that meet a condition; CodeConflict if one
// holds a job.
func deleteComputeNodes(tx *core.Tx, condition string, arg int64) error {
	nodes := `(SELECT id FROM compute_node WHERE ` + condition + `)`
	var live int64
	if err := tx.Row(`SELECT COUNT(*) FROM job WHERE status IN {live} AND compute_node_id IN `+nodes, []any{arg}, &live); err != nil {
		return fmt.Errorf("count the jobs of compute nodes: %w", err)
	}
	if live > 0 {
		return workflow.Errorf(workflow.CodeConflict, "a compute node that is to be deleted still holds %s", workflow.CountOf(live, "job", "jobs")).
			WithHint("complete these jobs, or reset them, first")
	}
	results := `(SELECT id FROM result WHERE compute_node_id IN ` + nodes + `)`
	for _, query := range []string{
		`UPDATE job SET result_id = NULL WHERE result_id IN ` + results,
		`DELETE FROM result WHERE id IN ` + results,
		`UPDATE job SET compute_node_id = NULL WHERE compute_node_id IN ` + nodes,
		`DELETE FROM compute_node WHERE ` + condition,
	} {
		if _, err := tx.Exec(query, arg); err != nil {
			return fmt.Errorf("delete compute nodes: %w", err)
		}
	}
	return nil
}

func getComputeNode(tx *core.Tx, id int64) (compute.Node, error) {
	return core.GetOne(tx, "compute_node", id, `SELECT `+computeNodeColumns+` FROM compute_node WHERE id = ?`, scanComputeNode)
}
