package service

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// CancelAllocation requests the cancellation of an allocation: the jobs that run in it are
// preempted. It returns what happens now. Requested again, it changes nothing. An
// allocation that has ended is CodeConflict.
func CancelAllocation(ctx context.Context, s *store.Store, by Caller, id int64) (api.Message, error) {
	if _, err := liveAllocation(ctx, s, id); err != nil {
		return api.Message{}, err
	}
	n, err := s.Allocations.RequestCancel(ctx, []int64{id}, by.User+" canceled the allocation")
	if err != nil {
		return api.Message{}, err
	}
	if n > 0 {
		return api.Message{Message: fmt.Sprintf("allocation %d will be canceled", id)}, nil
	}
	if _, err := liveAllocation(ctx, s, id); err != nil { // it has ended meanwhile
		return api.Message{}, err
	}
	return api.Message{Message: fmt.Sprintf("allocation %d is being canceled", id)}, nil
}

// ProposeAllocationCancel returns what CancelAllocation would end, and how much work would
// be lost. Nothing is changed. It fails like CancelAllocation.
func ProposeAllocationCancel(ctx context.Context, s *Service, id int64) (api.AllocationCancellation, error) {
	a, err := liveAllocation(ctx, s.Store, id)
	if err != nil {
		return api.AllocationCancellation{}, err
	}
	p := api.AllocationCancellation{
		AllocationID: id, WorkflowID: a.WorkflowID, SlurmJobID: a.SlurmJobID, State: string(a.State), IsCanceling: a.CancelMS != 0,
		Jobs: []api.LiveJob{},
	}
	if p.IsCanceling {
		return p, nil
	}
	p.NodeSecondsLeft = nodeSecondsLeft(&a, s.Now().UnixMilli())
	p.Jobs, p.CPUSeconds, err = liveJobs(ctx, s, a.WorkflowID, id)
	return p, err
}

// liveAllocation returns an allocation; CodeConflict if it has ended.
func liveAllocation(ctx context.Context, s *store.Store, id int64) (compute.Allocation, error) {
	a, err := s.Allocations.Get(ctx, id)
	if err == nil && !a.IsLive() {
		err = workflow.Errorf(workflow.CodeConflict, "allocation %d has ended: %s", id, a.CauseText)
	}
	return a, err
}

// nodeSecondsLeft returns how long an allocation could still hold its nodes, summed over
// them; 0 if it has no time limit.
func nodeSecondsLeft(a *compute.Allocation, nowMS int64) int64 {
	left := a.Request.WalltimeS
	if a.State == compute.AllocationActive && a.LimitMS != 0 {
		left = max(0, (a.LimitMS-nowMS)/1000)
	}
	return left * max(1, a.Request.Nodes)
}
