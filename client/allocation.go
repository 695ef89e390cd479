package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
)

// AllocationFilter selects allocations of a workflow; nil and empty fields
// select nothing.
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

// Create asks Slurm for allocations of a scheduler. It is not repeated: each
// call asks for more.
func (c Allocations) Create(ctx context.Context, workflowID int64, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	return call[api.AllocateResponse](ctx, c, http.MethodPost, fmt.Sprintf("/workflows/%d/allocations", workflowID), r)
}

// AllocationQueueFilter selects allocations for a look at them.
type AllocationQueueFilter struct {
	WorkflowID int64 // 0: of all workflows
	Ended      bool  // also those that have ended
	// MaxAge is how old the daemon's last look at Slurm may be; negative: any.
	MaxAge time.Duration
}

// Queue lists allocations as Slurm's queue shows them, joined with
// what runs in them.
func (c Allocations) Queue(ctx context.Context, f AllocationQueueFilter) (*api.AllocationQueue, error) {
	q := values("workflow_id", nonZero(f.WorkflowID), "ended", f.Ended)
	if f.MaxAge >= 0 {
		q.Set("max_age_seconds", fmt.Sprint(int64(f.MaxAge/time.Second)))
	}
	return get[api.AllocationQueue](ctx, c, "/allocations%s", encode(q))
}

// nonZero is a pointer to a number, nil for 0.
func nonZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// JobCorrelations lists in which Slurm jobs the jobs of a workflow ran.
func (c SlurmStats) JobCorrelations(ctx context.Context, workflowID int64) iter.Seq2[api.SlurmJobCorrelation, error] {
	return pages[api.SlurmJobCorrelation](ctx, c, fmt.Sprintf("/workflows/%d/slurm_job_correlations", workflowID), Page{}, nil)
}

// SlurmStatsFilter selects what Slurm accounted for attempts; nil fields select
// nothing.
type SlurmStatsFilter struct {
	WorkflowID              int64
	JobID, RunID, AttemptID *int64
}

// List lists what Slurm accounted for the attempts of a workflow.
func (c SlurmStats) List(ctx context.Context, f SlurmStatsFilter) iter.Seq2[api.SlurmStats, error] {
	return pages[api.SlurmStats](ctx, c, "/slurm_stats", Page{},
		values("workflow_id", f.WorkflowID, "job_id", f.JobID, "run_id", f.RunID, "attempt_id", f.AttemptID))
}
