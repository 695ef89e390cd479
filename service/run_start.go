package service

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// StartRun starts a run of a workflow whose jobs wait for one, in one transaction, or, in a
// dry run, returns what would start, why, the files that must exist, and the cost. If the
// run has already started, nothing changes. It returns CodeConflict for a workflow that is
// canceled, has no jobs or has ended. A dry run fails like the real one.
func (s *Service) StartRun(ctx context.Context, by Caller, workflowID int64, q *api.StartRunRequest) (api.RunStart, error) {
	answer := api.RunStart{WorkflowID: workflowID, DryRun: q.DryRun}
	start := s.Store.Workflows.StartRun
	if q.DryRun {
		start = s.Store.Workflows.ProposeStartRun
	}
	done, err := start(ctx, workflowID, by.User)
	if err != nil {
		return answer, err
	}
	answer.Started, answer.NewRun, answer.OnlyUninitialized, answer.Reason = done.Starts, done.NewRun, done.OnlyUninitialized, done.Reason
	answer.RunID, answer.Ready, answer.Blocked = done.RunID, done.Ready, done.Blocked
	answer.DueActions = append([]int64{}, done.DueActions...)
	if !q.DryRun || !done.Starts {
		return answer, nil
	}
	if answer.RequiredFiles, err = requiredFiles(ctx, s.Store, workflowID); err != nil {
		return answer, err
	}
	g, err := s.graph(ctx, workflowID)
	answer.CPUSeconds = g.startCost()
	return answer, err
}

// startCost returns the most that the jobs may use that a start of a run makes run.
func (g *jobGraph) startCost() int64 {
	var open []int32
	for i, j := range g.jobs {
		switch j.Status {
		case workflow.Uninitialized, workflow.Terminated, workflow.PendingFailed:
			open = append(open, int32(i))
		}
	}
	open = append(open, g.behind(open)...)
	slices.Sort(open)
	return g.cost(slices.Compact(open))
}

// requiredFiles returns the paths of the files that must exist when a workflow runs: those
// that no job writes, and the outputs of completed jobs.
func requiredFiles(ctx context.Context, s *store.Store, workflowID int64) ([]string, error) {
	ids, err := s.Files.RequiredExisting(ctx, workflowID)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	files, err := all(func(page store.Page) ([]artifact.File, int64, error) {
		return s.Files.List(ctx, store.FileFilter{WorkflowID: workflowID}, page)
	})
	var paths []string
	for _, f := range files {
		if _, required := slices.BinarySearch(ids, f.ID); required {
			paths = append(paths, f.Path)
		}
	}
	return paths, err
}
