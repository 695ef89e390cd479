package fleet

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Registration is what a runner reports of itself, and what the daemon knows about it.
type Registration struct {
	lease.RegisterRequest
	WorkflowID int64
	IntentID   string // of the allocation whose secret it presented; empty outside of allocations
	Login      placement.LoginPart
}

// Registered is the answer to a registration.
type Registered struct {
	RunnerID int64
	Workflow workflow.Workflow
}

// Register registers a runner of a workflow. With the same key again it returns the same
// runner.
func (s Runners) Register(_ context.Context, r Registration) (Registered, error) {
	labels, err := workflow.NormalizeLabels(r.Labels)
	if err != nil {
		return Registered{}, err
	}
	r.Labels = labels
	switch {
	case r.Key == "":
		return Registered{}, workflow.Errorf(workflow.CodeInvalid, "a runner needs a key")
	case r.Hostname == "":
		return Registered{}, workflow.Errorf(workflow.CodeInvalid, "a runner needs a hostname")
	case min(r.NumCPUs, r.MemoryBytes, r.NumGPUs, r.MaxParallelJobs) < 0 || r.NumNodes < 1:
		return Registered{}, workflow.Errorf(workflow.CodeInvalid, "a runner has at least one node and no negative resources")
	}
	if err := workflow.CheckName("host", r.Hostname); err != nil {
		return Registered{}, err
	}
	var answer Registered
	var refusal error // an error after the commit
	err = s.shared.Do("register runner", func(tx *core.Tx) (err error) {
		if answer.Workflow, err = core.GetWorkflow(tx, r.WorkflowID); err != nil {
			return err
		}
		joined := r
		var allocation *int64
		if allocation, refusal, err = joinAllocation(tx, &joined); err != nil || refusal != nil {
			return err
		}
		answer.RunnerID, err = RegisterRunner(tx, &joined, allocation)
		return err
	})
	return answer, cmp.Or(err, refusal)
}

// RegisterRunner returns the id of the runner with the registration's key. It inserts the
// runner if there is none.
func RegisterRunner(tx *core.Tx, r *Registration, allocation *int64) (int64, error) {
	var id, workflowID int64
	err := tx.Row(`SELECT id, workflow_id FROM compute_node WHERE runner_key = ?`, []any{r.Key}, &id, &workflowID)
	switch {
	case err == nil && workflowID != r.WorkflowID:
		return 0, workflow.Errorf(workflow.CodeConflict, "runner %d has this key and belongs to workflow %d", id, workflowID)
	case err == nil:
		return id, nil
	case !errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("find a runner of workflow %d by its key: %w", r.WorkflowID, err)
	}
	scheduler, err := json.Marshal(r.Scheduler)
	if err != nil {
		return 0, fmt.Errorf("write the scheduler of a runner of workflow %d: %w", r.WorkflowID, err)
	}
	n := compute.Node{
		WorkflowID: r.WorkflowID, Hostname: r.Hostname, PID: r.PID, NumCPUs: r.NumCPUs,
		MemoryGB: float64(r.MemoryBytes) / (1 << 30), NumGPUs: r.NumGPUs, Type: r.NodeType,
	}
	n.ID, err = tx.Insert(`INSERT INTO compute_node (workflow_id, hostname, pid, start_time, end_time, is_active, num_cpus, memory_gb, num_gpus,
			num_nodes, scheduler_config_id, compute_node_type, labels, scheduler, runner_key, boot_id, output_dir, max_parallel_jobs, strict_scheduler,
			allocation_id, login, shares_host)
		VALUES (?, ?, ?, ?, NULLIF(?, ''), 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, 0), ?, ?, ?, ?)`,
		n.WorkflowID, n.Hostname, n.PID, r.StartTime, r.EndTime, n.NumCPUs, n.MemoryGB, n.NumGPUs,
		r.NumNodes, r.SchedulerConfigID, n.Type, JoinedLabels(r.Labels), view.Text(scheduler), r.Key, r.BootID, r.OutputDir,
		r.MaxParallelJobs, r.StrictScheduler, allocation, int64(r.Login), r.sharesHost(allocation))
	if err != nil {
		return 0, fmt.Errorf("insert a runner of workflow %d: %w", r.WorkflowID, err)
	}
	return n.ID, engine.ComputeNodeStarted(tx, &n)
}

// sharesHost reports whether a runner shares its host. A runner that counts jobs, has
// several nodes, or is in an allocation does not.
func (r *Registration) sharesHost(allocation *int64) bool {
	return r.SharesHost && r.MaxParallelJobs == 0 && r.NumNodes == 1 && allocation == nil && r.BootID != ""
}

// NoteLaunchPause records in the log of the workflow that a runner is not starting jobs for
// now. A daemon that was just started may record it twice.
func (s Runners) NoteLaunchPause(_ context.Context, runnerID int64, why workflow.LaunchPause) error {
	return s.shared.Do("note a pause", func(tx *core.Tx) error {
		r, err := core.LoadRunner(tx, runnerID)
		if err != nil {
			return err
		}
		return tx.Event(r.WorkflowID, string(workflow.EventLaunchPaused), event.SeverityWarning, event.LaunchPausedPayload{
			ComputeNodeID: r.ID, Hostname: r.Hostname, LaunchPause: why,
		})
	})
}

// JoinedLabels returns the value of a label column; null for none.
func JoinedLabels(labels []string) any {
	if len(labels) == 0 {
		return nil
	}
	return workflow.JoinLabels(labels)
}
