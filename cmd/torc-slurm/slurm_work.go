package main

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobsLeft are the jobs of a workflow that have not begun, and those that are
// named, with what they need.
func jobsLeft(ctx context.Context, c *connection, id int64, include []string) (*workLeft, error) {
	named, err := splitIDs("job", include)
	if err != nil {
		return nil, err
	}
	requirements, err := requirementsByID(ctx, c, id)
	if err != nil {
		return nil, err
	}
	left := &workLeft{}
	index := make(map[int64]int32) // of the jobs, by id
	for j, err := range c.Jobs(ctx, client.JobFilter{WorkflowID: id, IncludeRelationships: true}) {
		if err != nil {
			return nil, err
		}
		switch statusOf(j) {
		case workflow.Uninitialized, workflow.Ready, workflow.Blocked:
		default:
			if !slices.Contains(named, idOf(j.ID)) {
				continue
			}
		}
		index[idOf(j.ID)] = int32(len(left.jobs))
		left.jobs = append(left.jobs, j)
	}
	levels := workflow.Levels(len(left.jobs), func(i int) (deps []int32) {
		for _, d := range left.jobs[i].DependsOnJobIDs {
			if at, ok := index[d]; ok {
				deps = append(deps, at)
			}
		}
		return deps
	})
	left.work = make([]scheduler.Work, len(left.jobs))
	for i, j := range left.jobs {
		left.work[i] = scheduler.Work{
			Requirements: domainRequirements(requirements[idOf(j.ResourceRequirementsID)]), Level: levels[i], Labeled: len(j.Labels) > 0, Login: j.Login,
		}
	}
	return left, nil
}

// slurmSchedulersOf lists the Slurm schedulers of a workflow.
func slurmSchedulersOf(ctx context.Context, c *connection, id int64) ([]api.SlurmScheduler, error) {
	return client.Collect(c.SlurmSchedulers(ctx, client.SlurmSchedulerFilter{WorkflowID: id}))
}

// liveAllocations selects the allocations of a workflow that have not ended.
func liveAllocations(id int64) client.AllocationFilter {
	return client.AllocationFilter{WorkflowID: id, Live: true}
}

// notNil is an empty list for none, so that JSON has a list.
func notNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
