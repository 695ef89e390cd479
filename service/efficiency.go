package service

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// Reports has the reports about what workflows did and used. They change nothing.
type Reports struct{ *Service }

// Efficiency compares what the attempts of a workflow used with what their jobs request, of one
// run if it is given. The allocations, and the requirements that it suggests, are of all runs. It
// returns CodeNotFound for an unknown workflow.
func (r Reports) Efficiency(ctx context.Context, workflowID int64, run *int64) (api.Efficiency, error) {
	answer := api.Efficiency{WorkflowID: workflowID, RunID: run, Suggested: []api.SuggestedRequirements{}}
	var meter usage.Meter
	if err := r.Store.Jobs.AttemptUses(ctx, workflowID, run, meter.Add); err != nil {
		return answer, err
	}
	answer.Efficiency = meter.Report()
	uses, err := r.Store.Allocations.Uses(ctx, workflowID)
	if err != nil {
		return answer, err
	}
	answer.Allocations = allocationTime(uses, r.Now().UnixMilli())
	m, err := r.measurements(ctx, workflowID, nil)
	if err != nil {
		return answer, err
	}
	o := usage.CorrectionOptions{MemoryMultiplier: defaultCorrection, CPUMultiplier: defaultCorrection, RuntimeMultiplier: defaultCorrection, Codes: m.config.ReturnCodes()}
	answer.Suggested = append(answer.Suggested, suggestions(m, usage.CorrectRequirements(m.uses, m.jobsOf, o))...)
	return answer, nil
}

// allocationTime sums up the time of allocations; nil if none has started.
func allocationTime(uses []compute.AllocationUse, nowMS int64) *api.AllocationTime {
	held, used := int64(0), int64(0)
	for i := range uses {
		held += uses[i].CPUSeconds(nowMS)
		used += uses[i].JobCPUSeconds
	}
	if held == 0 {
		return nil
	}
	return &api.AllocationTime{CoreSeconds: held, IdleShare: max(0, 1-float64(used)/float64(held))}
}

// suggestions returns the requirements after their corrections.
func suggestions(m *measurements, corrections []usage.Correction) (all []api.SuggestedRequirements) {
	changed := m.requirements
	for i := range corrections {
		c := &corrections[i]
		rr := c.Apply(changed[c.Requirements.ID])
		changed[c.Requirements.ID] = rr
		if n := len(all); n == 0 || corrections[i-1].Requirements.ID != c.Requirements.ID {
			all = append(all, api.SuggestedRequirements{Name: rr.Name})
		}
		s := &all[len(all)-1]
		s.NumCPUs, s.NumGPUs, s.NumNodes, s.Memory, s.Runtime = rr.NumCPUs, rr.NumGPUs, rr.NumNodes, rr.Memory, rr.Runtime
		s.Reasons = append(s.Reasons, fmt.Sprintf("%s %s instead of %s: %s", c.Resource, c.New, c.Old, c.Reason))
	}
	return all
}
