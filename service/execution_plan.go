package service

import (
	"cmp"
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// ExecutionPlan returns the order in which the jobs of a workflow become ready, regardless
// of their present status, and which allocations its actions request.
func (s *Service) ExecutionPlan(ctx context.Context, workflowID int64) (api.ExecutionPlan, error) {
	w, err := s.Store.Workflows.Get(ctx, workflowID)
	if err != nil {
		return api.ExecutionPlan{}, err
	}
	jobs, err := all(func(page store.Page) ([]workflow.Job, int64, error) {
		return s.Store.Jobs.List(ctx, store.JobFilter{WorkflowID: workflowID, WithRelations: true}, page)
	})
	if err != nil {
		return api.ExecutionPlan{}, err
	}
	o := newOutline(jobs)
	if err := s.outlineActions(ctx, workflowID, o); err != nil {
		return api.ExecutionPlan{}, fmt.Errorf("plan workflow %d: %w", workflowID, err)
	}
	return api.ExecutionPlan{WorkflowID: &workflowID, WorkflowName: w.Name, TotalJobs: len(jobs), Events: graph.ExecutionPlan(&o.Definition)}, nil
}

// outline is the part of a definition that a plan needs: names, relations and actions.
type outline struct {
	workflow.Definition
	jobs numbering
}

// numbering maps ids to positions in a list of a definition.
type numbering map[int64]int32

// of returns the positions of ids. New ids get the next positions.
func (n numbering) of(ids []int64) []int32 {
	for _, id := range ids {
		if _, known := n[id]; !known {
			n[id] = int32(len(n))
		}
	}
	return n.known(ids)
}

// known returns the positions of known ids. Jobs that were added during reading are
// unknown.
func (n numbering) known(ids []int64) (places []int32) {
	for _, id := range ids {
		if at, known := n[id]; known {
			places = append(places, at)
		}
	}
	return places
}

// newOutline returns the outline of jobs, which are ordered by id.
func newOutline(jobs []workflow.Job) *outline {
	o := &outline{jobs: make(numbering, len(jobs))}
	for i, j := range jobs {
		o.jobs[j.ID] = int32(i)
	}
	files, userData := make(numbering), make(numbering)
	for _, j := range jobs {
		o.Jobs = append(o.Jobs, workflow.JobDefinition{
			Name: j.Name, DependsOn: o.jobs.known(j.DependsOn), InputFiles: files.of(j.InputFiles), OutputFiles: files.of(j.OutputFiles),
			InputUserData: userData.of(j.InputUserData), OutputUserData: userData.of(j.OutputUserData),
		})
	}
	o.Files, o.UserData = make([]workflow.FileDefinition, len(files)), make([]workflow.UserDataDefinition, len(userData))
	return o
}

// outlineActions adds the actions that request allocations.
func (s *Service) outlineActions(ctx context.Context, workflowID int64, o *outline) error {
	schedulers, err := all(func(page store.Page) ([]compute.SlurmScheduler, int64, error) {
		return s.Store.SlurmSchedulers.List(ctx, workflowID, page)
	})
	if err != nil {
		return err
	}
	names := make(map[int64]string)
	for _, c := range schedulers {
		names[c.ID] = c.Name
	}
	actions, err := s.Store.Actions.List(ctx, workflowID)
	if err != nil {
		return err
	}
	for i := range actions {
		x := &actions[i]
		if x.ActionType != action.ScheduleNodes {
			continue
		}
		config, err := x.ScheduleNodes()
		if err != nil {
			return workflow.Errorf(workflow.CodeInvalid, "%v", err)
		}
		a := workflow.ActionDefinition{
			TriggerType: x.TriggerType, ActionType: x.ActionType, Jobs: o.jobs.known(x.JobIDs),
			SchedulerType: config.SchedulerType, NumAllocations: config.Count(),
		}
		if id := config.SchedulerID; id != nil {
			a.Scheduler = cmp.Or(names[*id], fmt.Sprintf("scheduler_%d", *id))
		}
		o.Actions = append(o.Actions, a)
	}
	return nil
}
