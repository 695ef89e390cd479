package service

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// ResourceStatistics returns what the latest attempts of jobs used, by the requirements that
// they share; only of completed jobs if wanted.
func ResourceStatistics(ctx context.Context, s *Service, workflowID int64, onlyCompleted bool) (api.ResourceStatistics, error) {
	out := api.ResourceStatistics{WorkflowID: workflowID, Groups: []api.RequirementsStatistics{}}
	m, err := s.measurements(ctx, workflowID, nil)
	if err != nil {
		return out, err
	}
	if onlyCompleted {
		m.uses = slices.DeleteFunc(m.uses, func(u usage.JobUse) bool { return u.Status != workflow.Completed })
	}
	for _, g := range usage.ByRequirements(m.uses) {
		q := &g.Requirements
		out.Groups = append(out.Groups, api.RequirementsStatistics{
			ResourceRequirementsID: q.ID, Name: q.Name, NumCPUs: q.NumCPUs, NumGPUs: q.NumGPUs, NumNodes: q.NumNodes, Memory: q.Memory, Runtime: q.Runtime,
			MemoryBytes: api.Range(g.Memory), CPUPercent: api.Range(g.CPU), Seconds: api.Range(g.Runtime),
			Jobs: each(g.Uses, func(u usage.JobUse) api.MeasuredJob {
				return api.MeasuredJob{JobID: u.JobID, JobName: u.JobName, Status: u.Status, ExecSeconds: u.ExecSeconds, PeakMemoryBytes: u.PeakMemoryBytes, PeakCPUPercent: u.PeakCPUPercent}
			}),
		})
	}
	return out, nil
}
