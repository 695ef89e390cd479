package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

const computeNodeColumns = `id, workflow_id, hostname, pid, start_time, end_time, duration_seconds, is_active, num_cpus, memory_gb,
	num_gpus, num_nodes, time_limit, scheduler_config_id, compute_node_type, labels, scheduler,
	sample_count, peak_cpu_percent, avg_cpu_percent, peak_memory_bytes, avg_memory_bytes`

func scanComputeNode(r rowScanner) (n workflow.ComputeNode, err error) {
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

// CreateComputeNode stores a compute node that a torc client brings along, and
// returns it with its id.
func (s *Store) CreateComputeNode(_ context.Context, n workflow.ComputeNode) (workflow.ComputeNode, error) {
	labels, err := workflow.NormalizeLabels(n.Labels)
	if err != nil {
		return n, err
	}
	n.Labels = labels
	if err := workflow.CheckName("host", n.Hostname); err != nil {
		return n, err
	}
	err = s.writer.do("create compute node", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(n.WorkflowID); err != nil {
			return err
		}
		n.ID, err = tx.insert(`INSERT INTO compute_node (workflow_id, hostname, pid, start_time, end_time, duration_seconds, is_active, num_cpus,
				memory_gb, num_gpus, num_nodes, time_limit, scheduler_config_id, compute_node_type, labels, scheduler,
				sample_count, peak_cpu_percent, avg_cpu_percent, peak_memory_bytes, avg_memory_bytes)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			n.WorkflowID, n.Hostname, n.PID, n.StartTime, n.EndTime, n.DurationSeconds, n.IsActive, n.NumCPUs,
			n.MemoryGB, n.NumGPUs, n.NumNodes, n.TimeLimit, n.SchedulerConfigID, n.Type, joinedLabels(n.Labels), text(n.Scheduler),
			n.SampleCount, n.PeakCPUPercent, n.AvgCPUPercent, n.PeakMemoryBytes, n.AvgMemoryBytes)
		if err != nil {
			return fmt.Errorf("insert compute node %s: %w", n.Hostname, err)
		}
		return tx.computeNodeStarted(&n)
	})
	return n, err
}

// joinedLabels is a label column: null where there are none.
func joinedLabels(labels []string) any {
	if len(labels) == 0 {
		return nil
	}
	return workflow.JoinLabels(labels)
}

func (tx *Tx) computeNodeStarted(n *workflow.ComputeNode) error {
	return tx.event(n.WorkflowID, string(workflow.EventComputeNodeStarted), workflow.SeverityInfo, map[string]any{
		"compute_node_id": n.ID, "hostname": n.Hostname, "pid": n.PID, "num_cpus": n.NumCPUs,
		"memory_gb": n.MemoryGB, "num_gpus": n.NumGPUs, "compute_node_type": n.Type,
	})
}

func (tx *Tx) computeNodeStopped(n *workflow.ComputeNode) error {
	duration := 0.0
	set(&duration, n.DurationSeconds)
	return tx.event(n.WorkflowID, string(workflow.EventComputeNodeStopped), workflow.SeverityInfo, map[string]any{
		"compute_node_id": n.ID, "hostname": n.Hostname, "pid": n.PID, "duration_seconds": duration, "compute_node_type": n.Type,
	})
}

// ComputeNode returns a compute node.
func (s *Store) ComputeNode(ctx context.Context, id int64) (workflow.ComputeNode, error) {
	return readOne(ctx, s.read, "compute_node", id, `SELECT `+computeNodeColumns+` FROM compute_node WHERE id = ?`, scanComputeNode)
}

// ComputeNodeFilter says which compute nodes of a workflow are wanted; nil
// fields do not matter.
type ComputeNodeFilter struct {
	WorkflowID             int64
	Hostname               *string // a part of it
	IsActive               *bool
	ScheduledComputeNodeID *int64 // scheduler.scheduler_id
}

// ComputeNodes returns a page of the compute nodes of a workflow.
func (s *Store) ComputeNodes(ctx context.Context, q ComputeNodeFilter, page Page) ([]workflow.ComputeNode, int64, error) {
	if err := s.requireWorkflow(ctx, q.WorkflowID); err != nil {
		return nil, 0, err
	}
	f := where(`workflow_id = ?`, q.WorkflowID)
	contains(f, "hostname", q.Hostname)
	equal(f, "is_active", q.IsActive)
	if q.ScheduledComputeNodeID != nil {
		f.add(`json_extract(scheduler, '$.scheduler_id') = ?`, *q.ScheduledComputeNodeID)
	}
	sortable := map[string]string{"compute_node_type": "compute_node_type"}
	for _, c := range []string{"workflow_id", "hostname", "pid", "start_time", "end_time", "duration_seconds", "is_active", "num_cpus", "memory_gb",
		"num_gpus", "num_nodes", "time_limit", "scheduler_config_id", "labels", "sample_count",
		"peak_cpu_percent", "avg_cpu_percent", "peak_memory_bytes", "avg_memory_bytes"} {
		sortable[c] = c
	}
	return readList(ctx, s.read, list{
		columns: computeNodeColumns, from: "compute_node", filter: f, sortable: sortable, id: "id", page: page,
	}, scanComputeNode)
}

// UpdateComputeNode changes a compute node and returns it. Its workflow must
// be the same; its labels cannot change. One that is deactivated loses the jobs
// that it still holds.
func (s *Store) UpdateComputeNode(_ context.Context, id, workflowID int64, u workflow.ComputeNodeUpdate) (workflow.ComputeNode, error) {
	var n workflow.ComputeNode
	err := s.writer.do("update compute node", func(tx *Tx) (err error) {
		if n, err = getComputeNode(tx, id); err != nil {
			return err
		}
		if err := sameWorkflow("compute_node", id, n.WorkflowID, workflowID); err != nil {
			return err
		}
		wasActive := n.IsActive
		applyNodeUpdate(&n, u)
		if err := workflow.CheckName("host", n.Hostname); u.Hostname != nil && err != nil {
			return err
		}
		err = tx.execOne(`UPDATE compute_node SET hostname = ?, pid = ?, start_time = ?, end_time = ?, duration_seconds = ?, is_active = ?,
				num_cpus = ?, memory_gb = ?, num_gpus = ?, num_nodes = ?, time_limit = ?, scheduler_config_id = ?, compute_node_type = ?, scheduler = ?,
				sample_count = ?, peak_cpu_percent = ?, avg_cpu_percent = ?, peak_memory_bytes = ?, avg_memory_bytes = ? WHERE id = ?`,
			n.Hostname, n.PID, n.StartTime, n.EndTime, n.DurationSeconds, n.IsActive,
			n.NumCPUs, n.MemoryGB, n.NumGPUs, n.NumNodes, n.TimeLimit, n.SchedulerConfigID, n.Type, text(n.Scheduler),
			n.SampleCount, n.PeakCPUPercent, n.AvgCPUPercent, n.PeakMemoryBytes, n.AvgMemoryBytes, id)
		if err != nil {
			return fmt.Errorf("update compute node %d: %w", id, err)
		}
		if !wasActive || n.IsActive {
			return nil
		}
		if _, err := tx.endLeases(&runner{id: id, workflowID: n.WorkflowID, hostname: n.Hostname}, "its compute node was deactivated"); err != nil {
			return err
		}
		return tx.computeNodeStopped(&n)
	})
	return n, err
}

func applyNodeUpdate(n *workflow.ComputeNode, u workflow.ComputeNodeUpdate) {
	set(&n.Hostname, u.Hostname)
	set(&n.PID, u.PID)
	set(&n.StartTime, u.StartTime)
	setOptional(&n.EndTime, u.EndTime)
	setOptional(&n.DurationSeconds, u.DurationSeconds)
	set(&n.IsActive, u.IsActive)
	set(&n.NumCPUs, u.NumCPUs)
	set(&n.MemoryGB, u.MemoryGB)
	set(&n.NumGPUs, u.NumGPUs)
	set(&n.NumNodes, u.NumNodes)
	setOptional(&n.TimeLimit, u.TimeLimit)
	setOptional(&n.SchedulerConfigID, u.SchedulerConfigID)
	set(&n.Type, u.Type)
	if text(u.Scheduler) != nil {
		n.Scheduler = u.Scheduler
	}
	setOptional(&n.SampleCount, u.SampleCount)
	setOptional(&n.PeakCPUPercent, u.PeakCPUPercent)
	setOptional(&n.AvgCPUPercent, u.AvgCPUPercent)
	setOptional(&n.PeakMemoryBytes, u.PeakMemoryBytes)
	setOptional(&n.AvgMemoryBytes, u.AvgMemoryBytes)
}

// DeleteComputeNode deletes a compute node that holds no job, with the results
// that name it. The attempts stay.
func (s *Store) DeleteComputeNode(_ context.Context, id int64) (workflow.ComputeNode, error) {
	var n workflow.ComputeNode
	err := s.writer.do("delete compute node", func(tx *Tx) (err error) {
		if n, err = getComputeNode(tx, id); err != nil {
			return err
		}
		return tx.deleteComputeNodes(`id = ?`, id)
	})
	return n, err
}

// DeleteComputeNodes deletes all compute nodes of a workflow, as
// DeleteComputeNode does, and returns how many there were.
func (s *Store) DeleteComputeNodes(_ context.Context, workflowID int64) (n int64, err error) {
	err = s.writer.do("delete compute nodes", func(tx *Tx) (err error) {
		if err := tx.requireWorkflow(workflowID); err != nil {
			return err
		}
		if err := tx.row(`SELECT COUNT(*) FROM compute_node WHERE workflow_id = ?`, []any{workflowID}, &n); err != nil {
			return fmt.Errorf("count the compute nodes of workflow %d: %w", workflowID, err)
		}
		return tx.deleteComputeNodes(`workflow_id = ?`, workflowID)
	})
	return n, err
}

// deleteComputeNodes deletes the compute nodes that a condition names.
func (tx *Tx) deleteComputeNodes(condition string, arg int64) error {
	nodes := `(SELECT id FROM compute_node WHERE ` + condition + `)`
	var live int64
	if err := tx.row(`SELECT COUNT(*) FROM job WHERE status IN (3, 4) AND compute_node_id IN `+nodes, []any{arg}, &live); err != nil {
		return fmt.Errorf("count the jobs of compute nodes: %w", err)
	}
	if live > 0 {
		return workflow.Errorf(workflow.CodeConflict, "a compute node that is to be deleted still holds jobs (%d)", live).
			WithHint("complete these jobs, or reset them, first")
	}
	results := `(SELECT id FROM result WHERE compute_node_id IN ` + nodes + `)`
	for _, query := range []string{
		`UPDATE job SET result_id = NULL WHERE result_id IN ` + results,
		`DELETE FROM result WHERE id IN ` + results,
		`UPDATE job SET compute_node_id = NULL WHERE compute_node_id IN ` + nodes,
		`DELETE FROM compute_node WHERE ` + condition,
	} {
		if _, err := tx.exec(query, arg); err != nil {
			return fmt.Errorf("delete compute nodes: %w", err)
		}
	}
	return nil
}

func getComputeNode(tx *Tx, id int64) (workflow.ComputeNode, error) {
	return getOne(tx, "compute_node", id, `SELECT `+computeNodeColumns+` FROM compute_node WHERE id = ?`, scanComputeNode)
}
