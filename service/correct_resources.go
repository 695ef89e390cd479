package service

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// defaultCorrection is the default multiplier of a peak.
const defaultCorrection = 1.2

// CorrectResources fits resource requirements to what jobs used, or, in a dry run,
// proposes how. It returns CodeInvalid for a multiplier of less than 1.
func (s *Service) CorrectResources(ctx context.Context, by Caller, workflowID int64, q *api.CorrectResourcesRequest) (api.CorrectionReport, error) {
	o := usage.CorrectionOptions{NoDownsize: q.NoDownsize}
	for _, f := range []struct {
		field string
		given *float64
		to    *float64
	}{
		{"memory_multiplier", q.MemoryMultiplier, &o.MemoryMultiplier}, {"cpu_multiplier", q.CPUMultiplier, &o.CPUMultiplier},
		{"runtime_multiplier", q.RuntimeMultiplier, &o.RuntimeMultiplier},
	} {
		var err error
		if *f.to, err = multiplier(f.field, f.given, defaultCorrection); err != nil {
			return api.CorrectionReport{}, err
		}
	}
	m, err := s.measurements(ctx, workflowID, nil)
	if err != nil {
		return api.CorrectionReport{}, err
	}
	if len(q.JobIDs) > 0 {
		m.only(q.JobIDs)
	}
	o.Codes = m.config.ReturnCodes()
	corrections := usage.CorrectRequirements(m.uses, m.jobsOf, o)
	if !q.DryRun {
		if err := s.applyCorrections(ctx, by, m.requirements, corrections); err != nil {
			return api.CorrectionReport{}, err
		}
	}
	return newCorrectionReport(m, corrections, o, q.DryRun), nil
}

// multiplier returns the factor of a request, or else the default.
func multiplier(field string, given *float64, usual float64) (float64, error) {
	switch {
	case given == nil:
		return usual, nil
	case *given < 1:
		return 0, workflow.Errorf(workflow.CodeInvalid, "%s: a multiplier of %g leaves less than was used; it must be at least 1", field, *given)
	}
	return *given, nil
}

// applyCorrections changes each requirements record once.
func (s *Service) applyCorrections(ctx context.Context, by Caller, byID map[int64]workflow.ResourceRequirements, corrections []usage.Correction) error {
	for i := range corrections {
		id := corrections[i].Requirements.ID
		byID[id] = corrections[i].Apply(byID[id])
		if i+1 < len(corrections) && corrections[i+1].Requirements.ID == id {
			continue
		}
		if err := s.updateRequirements(ctx, by, byID[id]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) updateRequirements(ctx context.Context, by Caller, rr workflow.ResourceRequirements) error {
	update := store.RequirementsUpdate{WorkflowID: rr.WorkflowID, NumCPUs: &rr.NumCPUs, Memory: &rr.Memory, Runtime: &rr.Runtime}
	if _, err := s.Store.Requirements.Update(ctx, rr.ID, update, by.User); err != nil {
		return fmt.Errorf("change resource requirements %q: %w", rr.Name, err)
	}
	return nil
}

func adjustmentOf(c *usage.Correction) api.Adjustment {
	return api.Adjustment{
		ResourceRequirementsID: c.Requirements.ID, ResourceRequirementsName: c.Requirements.Name, Resource: c.Resource,
		Old: c.Old, New: c.New, Downsize: c.Downsize, JobIDs: c.JobIDs, Reason: c.Reason,
	}
}

func newCorrectionReport(m *measurements, corrections []usage.Correction, o usage.CorrectionOptions, dryRun bool) api.CorrectionReport {
	r := api.CorrectionReport{
		Status: "success", WorkflowID: m.workflowID, DryRun: dryRun, NoDownsize: o.NoDownsize, JobsAnalyzed: len(m.uses),
		MemoryMultiplier: o.MemoryMultiplier, CPUMultiplier: o.CPUMultiplier, RuntimeMultiplier: o.RuntimeMultiplier,
		Adjustments: []api.Adjustment{},
	}
	changed := make(map[int64]bool)
	counts := map[workflow.Resource][2]*int{
		workflow.ResourceMemory:  {&r.MemoryCorrections, &r.DownsizeMemory},
		workflow.ResourceRuntime: {&r.RuntimeCorrections, &r.DownsizeRuntime},
		workflow.ResourceCPU:     {&r.CPUCorrections, &r.DownsizeCPU},
	}
	for _, c := range corrections {
		changed[c.Requirements.ID] = true
		count := counts[c.Resource][0]
		if c.Downsize {
			count = counts[c.Resource][1]
		}
		*count++
		r.Adjustments = append(r.Adjustments, adjustmentOf(&c))
	}
	if r.RequirementsUpdated = len(changed); r.RequirementsUpdated == 0 {
		r.Message = "no resource requirements need a change"
	}
	return r
}
