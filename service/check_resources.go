package service

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// CheckResources compares used and requested resources of the jobs of a workflow.
func (s *Service) CheckResources(ctx context.Context, workflowID int64, q api.ResourceFilter) (api.ResourceReport, error) {
	m, err := s.measurements(ctx, workflowID, q.RunID)
	if err != nil {
		return api.ResourceReport{}, err
	}
	report := m.report(q.All, q.IncludeFailed, q.MinOverPercent)
	report.RunID = q.RunID
	return report, nil
}

func (m *measurements) report(all, includeFailed bool, least float64) api.ResourceReport {
	report := api.ResourceReport{WorkflowID: m.workflowID, Violations: []api.ResourceUse{}}
	var failed []api.FailedResource
	for _, u := range m.uses {
		succeeded := u.Status == workflow.Completed
		if !succeeded && includeFailed {
			failed = append(failed, m.failure(u))
		}
		if !succeeded && !includeFailed {
			continue
		}
		report.TotalResults++
		for _, use := range u.Utilization() {
			over := use.OverPercent()
			row := api.ResourceUse{
				JobID: use.JobID, JobName: use.JobName, ResourceType: use.Resource, Specified: use.RequestedText(), PeakUsed: use.UsedText(),
				OverUtilization: fmt.Sprintf("%+.1f%%", over),
			}
			switch {
			case over >= least:
				report.Violations = append(report.Violations, row)
			case all:
				report.WithinLimits = append(report.WithinLimits, row)
			}
		}
	}
	report.OverUtilizationCount = len(report.Violations)
	if includeFailed {
		n := len(failed)
		report.ViolationsCount, report.ResourceViolations = &n, failed
	}
	return report
}

// failure returns which resource a job that did not succeed may have lacked.
func (m *measurements) failure(u usage.JobUse) api.FailedResource {
	rr := u.Requirements
	f := api.FailedResource{
		JobID: u.JobID, JobName: u.JobName, ReturnCode: u.ReturnCode, ExecTimeMinutes: u.ExecSeconds / 60,
		ConfiguredMemory: rr.Memory, ConfiguredRuntime: rr.Runtime, ConfiguredCPUs: rr.NumCPUs,
		PeakMemoryBytes: u.PeakMemoryBytes,
	}
	if u.PeakMemoryBytes != nil {
		f.PeakMemoryFormatted = workflow.FormatBytes(*u.PeakMemoryBytes)
	}
	for _, use := range u.Utilization() {
		over := use.OverPercent()
		switch use.Resource {
		case workflow.ResourceMemory:
			if over > 0 {
				f.MemoryViolation, f.OOMReason, f.MemoryOverUtilization = true, "memory_exceeded", fmt.Sprintf("%+.1f%%", over)
			}
		case workflow.ResourceCPU:
			f.LikelyCPUViolation, f.PeakCPUPercent = over > 0, use.Used
		case workflow.ResourceRuntime:
			f.LikelyRuntime, f.RuntimeUtilization = over > 0, fmt.Sprintf("%.1f%%", 100+over)
		}
	}
	codes := m.config.ReturnCodes()
	if u.ReturnCode == codes.OOM && !f.MemoryViolation {
		f.MemoryViolation, f.OOMReason = true, fmt.Sprintf("return code %d", codes.OOM)
	}
	if u.ReturnCode == codes.Timeout {
		f.LikelyTimeout, f.TimeoutReason = true, fmt.Sprintf("return code %d", codes.Timeout)
	}
	return f
}
