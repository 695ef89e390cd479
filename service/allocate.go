package service

import (
	"cmp"
	"context"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// MaxAllocate bounds the allocations of one request.
const MaxAllocate = 1000

// Submitter requests allocations from Slurm.
type Submitter interface {
	Submit(ctx context.Context, want allocation.Want) (compute.Allocation, error)
}

// Allocate requests allocations of a scheduler from Slurm, one after the other, each time
// that it is called; a dry run only returns what would be requested. It stops at the first request that Slurm rejects; if that is the
// first of all, it is CodeConflict, or CodeUnavailable where Slurm may accept it later. It
// is CodeUnfit if jobs can never run in what the workflow can get, unless the request skips
// that check.
func (s *Service) Allocate(ctx context.Context, by Caller, workflowID int64, q *api.AllocateRequest) (answer api.AllocateResponse, err error) {
	if s.Cluster == nil {
		return answer, ErrNoSlurm
	}
	if q.Count < 0 || q.Count > MaxAllocate {
		return answer, workflow.Errorf(workflow.CodeInvalid, "count must be between 1 and %d", MaxAllocate)
	}
	c, err := s.Store.SlurmSchedulers.Get(ctx, q.SchedulerConfigID)
	if err != nil {
		return answer, err
	}
	if c.WorkflowID != workflowID {
		return answer, workflow.Errorf(workflow.CodeInvalid, "Slurm scheduler %d is of workflow %d", c.ID, c.WorkflowID)
	}
	if !q.SkipChecks {
		if err := refuseForPaused(ctx, s.Store, workflowID); err != nil {
			return answer, err
		}
	}
	request, err := allocation.RequestOf(&c)
	if err != nil {
		return answer, err
	}
	request.OutputDir, request.MaxParallelJobs = q.OutputDir, q.MaxParallelJobs
	request.OneRunnerPerNode, request.Labels = q.OneRunnerPerNode, q.Labels
	want := allocation.Want{WorkflowID: workflowID, SchedulerConfigID: &c.ID, Request: request, Why: cmp.Or(q.Why, by.User+" asked for it")}
	if s.Scheduler != nil {
		if _, err := s.fitness(ctx, workflowID, nil, nil, q.SkipChecks); err != nil {
			return answer, err
		}
	}
	if q.DryRun {
		answer.Items, answer.Proposed = []api.Allocation{}, proposeAllocations(&c, &want, max(q.Count, 1))
		answer.NodeSeconds = answer.Proposed.NodeSeconds()
		return answer, nil
	}
	ask := func() error {
		answer, err = s.ask(ctx, want, int(max(q.Count, 1)), c.SerializeAllocations)
		return err
	}
	if s.Scheduler == nil {
		err = ask()
	} else { // which is not to ask for the same jobs meanwhile
		err = s.Scheduler.Apart(ctx, ask)
	}
	return answer, err
}

// proposeAllocations returns what a request for allocations of a scheduler comes to.
func proposeAllocations(c *compute.SlurmScheduler, want *allocation.Want, count int64) *api.PlannedAllocations {
	q := &want.Request
	return &api.PlannedAllocations{
		ActionID: q.ActionID, Pool: c.Name, SchedulerConfigID: want.SchedulerConfigID, Count: count, Account: q.Account, Partition: q.Partition,
		Nodes: max(1, q.Nodes), WalltimeSeconds: q.WalltimeS, Exclude: q.Exclude, Reason: want.Why,
	}
}

// ask requests so many allocations from Slurm and stops at the first that is rejected.
func (s *Service) ask(ctx context.Context, want allocation.Want, count int, serialize bool) (answer api.AllocateResponse, err error) {
	answer.Items = []api.Allocation{}
	for range count {
		if serialize {
			if want.Request.After, err = s.latestSlurmJob(ctx, want.WorkflowID, *want.SchedulerConfigID); err != nil {
				return answer, err
			}
		}
		a, err := s.Cluster.Submit(ctx, want)
		if slurm.ClassOf(err) == slurm.Ambiguous {
			err = nil // the daemon searches for the Slurm job
		}
		if err != nil {
			if len(answer.Items) == 0 {
				return answer, submitError(err)
			}
			answer.Rejected = s.Told(ctx, submitError(err))
			break
		}
		answer.Items = append(answer.Items, api.FromAllocation(a))
	}
	return answer, nil
}

// submitError returns what a client is told when Slurm rejects a submission.
func submitError(err error) error {
	var told *workflow.Error
	switch slurm.ClassOf(err) {
	case slurm.Temporary, slurm.Withheld, slurm.Unavailable:
		told = workflow.Errorf(workflow.CodeUnavailable, "%v", err).WithHint("Slurm may accept it later; nothing was changed")
	case slurm.Limit:
		told = workflow.Errorf(workflow.CodeConflict, "%v", err).WithHint("a limit of the site is reached: wait until some of your Slurm jobs have ended")
	case slurm.Permanent:
		told = workflow.Errorf(workflow.CodeConflict, "%v", err).WithHint("change the Slurm scheduler: torc-slurm slurm update")
	default:
		return err
	}
	told.Err = err
	return told
}

// latestSlurmJob returns the live Slurm job of a scheduler that was submitted last,
// 0 if there is none.
func (s *Service) latestSlurmJob(ctx context.Context, workflowID, schedulerID int64) (latest int64, err error) {
	all, _, err := s.Store.Allocations.List(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, store.Page{Limit: api.MaxLimit})
	for _, a := range all {
		if a.SchedulerConfigID != nil && *a.SchedulerConfigID == schedulerID && a.CancelMS == 0 {
			latest = max(latest, a.SlurmJobID)
		}
	}
	return latest, err
}
