package service

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// measurements are the results of a workflow with what its jobs requested.
type measurements struct {
	workflowID   int64
	config       *workflow.ExecutionConfig
	uses         []usage.JobUse
	requirements map[int64]workflow.ResourceRequirements
	jobsOf       map[int64]int // number of jobs by requirements id
}

// measurements returns the results of a run, or the latest of each job if run is nil.
func (s *Service) measurements(ctx context.Context, id int64, run *int64) (*measurements, error) {
	w, err := s.Store.Workflows.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	m := &measurements{workflowID: id, config: w.ExecutionConfig, jobsOf: make(map[int64]int)}
	if m.requirements, err = s.requirementsByID(ctx, id); err != nil {
		return nil, err
	}
	jobs, err := s.jobs(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	needs := make(map[int64]workflow.ResourceRequirements) // by job
	for _, j := range jobs {
		var rr workflow.ResourceRequirements
		if j.ResourceRequirementsID != nil {
			rr = m.requirements[*j.ResourceRequirementsID]
		}
		needs[j.ID] = rr
		m.jobsOf[rr.ID]++
	}
	results, err := all(func(page store.Page) ([]workflow.Result, int64, error) {
		return s.Store.Results.List(ctx, store.ResultFilter{WorkflowID: id, RunID: run, AllRuns: run != nil}, page)
	})
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		m.uses = append(m.uses, usage.JobUse{
			JobID: r.JobID, JobName: r.JobName, Status: r.Status, ReturnCode: r.ReturnCode, ExecSeconds: r.ExecTimeMinutes * 60,
			PeakMemoryBytes: r.PeakMemoryBytes, PeakCPUPercent: r.PeakCPUPercent, Requirements: needs[r.JobID],
		})
	}
	return m, nil
}

// jobs returns the jobs of a workflow, of one status if it is given.
func (s *Service) jobs(ctx context.Context, workflowID int64, status *workflow.JobStatus) ([]workflow.Job, error) {
	return all(func(page store.Page) ([]workflow.Job, int64, error) {
		return s.Store.Jobs.List(ctx, store.JobFilter{WorkflowID: workflowID, Status: status}, page)
	})
}

// requirementsByID returns the resource requirements of a workflow.
func (s *Service) requirementsByID(ctx context.Context, workflowID int64) (map[int64]workflow.ResourceRequirements, error) {
	list, err := all(func(page store.Page) ([]workflow.ResourceRequirements, int64, error) {
		return s.Store.Requirements.List(ctx, store.RequirementsFilter{WorkflowID: workflowID}, page)
	})
	byID := make(map[int64]workflow.ResourceRequirements, len(list))
	for _, rr := range list {
		byID[rr.ID] = rr
	}
	return byID, err
}

// only drops the uses of all other jobs.
func (m *measurements) only(ids []int64) {
	m.uses = slices.DeleteFunc(m.uses, func(u usage.JobUse) bool { return !slices.Contains(ids, u.JobID) })
}
