package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
)

// AllocationFilter selects allocations of a workflow; nil and empty fields do not filter.
type AllocationFilter struct {
	Page
	WorkflowID int64
	State      string // intent, pending, active, ended
	Live       bool   // only those that have not ended
}

// List lists the allocations of a workflow.
func (c Allocations) List(ctx context.Context, f AllocationFilter) iter.Seq2[api.Allocation, error] {
	return pages[api.Allocation](ctx, c, fmt.Sprintf("/workflows/%d/allocations", f.WorkflowID), f.Page, values("state", f.State, "live", f.Live))
}

// Get returns an allocation.
func (c Allocations) Get(ctx context.Context, id int64) (*api.Allocation, error) {
	return get[api.Allocation](ctx, c, "/allocations/%d", id)
}

// Create requests allocations of a scheduler from Slurm. A failed call is not repeated,
// since each call requests more allocations.
func (c Allocations) Create(ctx context.Context, workflowID int64, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	return call[api.AllocateResponse](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/allocations", workflowID), r)
}

// Cancel requests the cancellation of an allocation; the jobs that run in it are
// preempted. It returns what happens now.
func (c Allocations) Cancel(ctx context.Context, id int64) (*api.Message, error) {
	return call[api.Message](repeatable(ctx), c, http.MethodPost, fmt.Sprintf("/allocations/%d/cancel", id), nil)
}

// ProposeCancel returns what Cancel would end, and how much work would be lost.
func (c Allocations) ProposeCancel(ctx context.Context, id int64) (*api.AllocationCancellation, error) {
	return get[api.AllocationCancellation](ctx, c, "/allocations/%d/cancellation", id)
}

// AllocationQueueFilter selects allocations of the queue.
type AllocationQueueFilter struct {
	WorkflowID int64 // 0: of all workflows
	Ended      bool  // also those that have ended
	// MaxAge is the maximum age of the daemon's last poll of Slurm; negative: any.
	MaxAge time.Duration
}

// Queue lists allocations as in Slurm's queue, with the jobs that run in them.
func (c Allocations) Queue(ctx context.Context, f AllocationQueueFilter) (*api.AllocationQueue, error) {
	q := values("workflow_id", nonZero(f.WorkflowID), "ended", f.Ended)
	if f.MaxAge >= 0 {
		q.Set("max_age_seconds", fmt.Sprint(int64(f.MaxAge/time.Second)))
	}
	return get[api.AllocationQueue](ctx, c, "/allocations%s", encode(q))
}

// nonZero returns a pointer to n, nil for 0.
func nonZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// JobCorrelations lists the jobs of a workflow with the Slurm jobs in which they ran.
func (c SlurmStats) JobCorrelations(ctx context.Context, workflowID int64) iter.Seq2[api.SlurmJobCorrelation, error] {
	return pages[api.SlurmJobCorrelation](ctx, c, fmt.Sprintf("/workflows/%d/slurm_job_correlations", workflowID), Page{}, nil)
}

// SlurmStatsFilter selects Slurm's accounting of attempts; nil fields do not filter.
type SlurmStatsFilter struct {
	WorkflowID              int64
	JobID, RunID, AttemptID *int64
}

// List lists Slurm's accounting of the attempts of a workflow.
func (c SlurmStats) List(ctx context.Context, f SlurmStatsFilter) iter.Seq2[api.SlurmStats, error] {
	return pages[api.SlurmStats](ctx, c, "/slurm_stats", Page{},
		values("workflow_id", f.WorkflowID, "job_id", f.JobID, "run_id", f.RunID, "attempt_id", f.AttemptID))
}
