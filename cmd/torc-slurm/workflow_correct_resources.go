package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// correctionReport is what workflows correct-resources says in JSON.
type correctionReport struct {
	Status              string       `json:"status"`
	WorkflowID          int64        `json:"workflow_id"`
	Message             string       `json:"message,omitempty"`
	DryRun              bool         `json:"dry_run"`
	NoDownsize          bool         `json:"no_downsize"`
	MemoryMultiplier    float64      `json:"memory_multiplier"`
	CPUMultiplier       float64      `json:"cpu_multiplier"`
	RuntimeMultiplier   float64      `json:"runtime_multiplier"`
	RequirementsUpdated int          `json:"resource_requirements_updated"`
	JobsAnalyzed        int          `json:"jobs_analyzed"`
	MemoryCorrections   int          `json:"memory_corrections"`
	RuntimeCorrections  int          `json:"runtime_corrections"`
	CPUCorrections      int          `json:"cpu_corrections"`
	DownsizeMemory      int          `json:"downsize_memory_corrections"`
	DownsizeRuntime     int          `json:"downsize_runtime_corrections"`
	DownsizeCPU         int          `json:"downsize_cpu_corrections"`
	Adjustments         []adjustment `json:"adjustments"`
}

// adjustment is one changed resource.
type adjustment struct {
	ResourceRequirementsID   int64             `json:"resource_requirements_id"`
	ResourceRequirementsName string            `json:"resource_requirements_name"`
	Resource                 workflow.Resource `json:"resource"`
	Old                      string            `json:"old"`
	New                      string            `json:"new"`
	Downsize                 bool              `json:"downsize"`
	JobIDs                   []int64           `json:"job_ids"`
	Reason                   string            `json:"reason"`
}

func newWorkflowsCorrectResourcesCommand(a *app) *cobra.Command {
	var (
		options workflow.CorrectionOptions
		jobs    []string
		dryRun  bool
	)
	cmd := &cobra.Command{
		Use:   "correct-resources [WORKFLOW]",
		Short: "Fit resource requirements to what jobs used",
		Long: `Raise resource requirements that jobs exceeded, or were killed for, and lower
those that were too large. New values are the largest use times a multiplier,
rounded up to whole megabytes or gigabytes, minutes and CPUs.

Requirements are shared: they are raised to what the most demanding job needs,
and lowered only if all their jobs have completed and were measured. The
requirements named default stay as they are.`,
		Example: `  torc-slurm workflows correct-resources 12 --dry-run
  torc-slurm workflows correct-resources 12 --memory-multiplier 1.5 --no-downsize
  torc-slurm workflows correct-resources 12 --job-ids 41,42`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	f := cmd.Flags()
	f.Float64Var(&options.MemoryMultiplier, "memory-multiplier", 1.2, "new memory is the peak times this `FACTOR`")
	f.Float64Var(&options.CPUMultiplier, "cpu-multiplier", 1.2, "new CPUs are the peak times this `FACTOR`")
	f.Float64Var(&options.RuntimeMultiplier, "runtime-multiplier", 1.2, "the new runtime is the longest time times this `FACTOR`")
	f.StringSliceVar(&jobs, "job-ids", nil, "only what these `JOBS` used, separated by commas")
	f.BoolVar(&dryRun, "dry-run", false, "only say what would be changed")
	f.BoolVar(&options.NoDownsize, "no-downsize", false, "lower nothing")
	check := func() error {
		for _, m := range []float64{options.MemoryMultiplier, options.CPUMultiplier, options.RuntimeMultiplier} {
			if m < 1 {
				return usageErrorf("a multiplier of %g would leave less than was used: at least 1", m)
			}
		}
		return nil
	}
	cmd.RunE = checked(check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		m, err := a.measurements(ctx, c, id, nil)
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			ids, err := splitIDs("job", jobs)
			if err != nil {
				return err
			}
			m.only(ids)
		}
		options.Codes = m.config.ReturnCodes()
		corrections := workflow.CorrectRequirements(m.uses, m.jobsOf, options)
		if !dryRun {
			if err := applyCorrections(ctx, c, m.requirements, corrections); err != nil {
				return err
			}
		}
		return a.showCorrections(newCorrectionReport(m, corrections, options, dryRun))
	}))
	return cmd
}

// applyCorrections changes each requirements record once.
func applyCorrections(ctx context.Context, c *connection, byID map[int64]api.ResourceRequirements, corrections []workflow.Correction) error {
	for i, correction := range corrections {
		id := correction.Requirements.ID
		rr := byID[id]
		changed := correction.Apply(domainRequirements(rr))
		rr.NumCPUs, rr.Memory, rr.Runtime = &changed.NumCPUs, &changed.Memory, &changed.Runtime
		byID[id] = rr
		if i+1 < len(corrections) && corrections[i+1].Requirements.ID == id {
			continue
		}
		if _, err := c.UpdateResourceRequirement(ctx, id, &rr); err != nil {
			return fmt.Errorf("change resource requirements %q: %w", rr.Name, err)
		}
	}
	return nil
}

func newCorrectionReport(m *measurements, corrections []workflow.Correction, o workflow.CorrectionOptions, dryRun bool) correctionReport {
	r := correctionReport{
		Status: "success", WorkflowID: m.workflowID, DryRun: dryRun, NoDownsize: o.NoDownsize, JobsAnalyzed: len(m.uses),
		MemoryMultiplier: o.MemoryMultiplier, CPUMultiplier: o.CPUMultiplier, RuntimeMultiplier: o.RuntimeMultiplier,
		Adjustments: []adjustment{},
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
		r.Adjustments = append(r.Adjustments, adjustment{
			c.Requirements.ID, c.Requirements.Name, c.Resource, c.Old, c.New, c.Downsize, c.JobIDs, c.Reason,
		})
	}
	if r.RequirementsUpdated = len(changed); r.RequirementsUpdated == 0 {
		r.Message = "no resource requirements need a change"
	}
	return r
}

func (a *app) showCorrections(r correctionReport) error {
	if a.format == formatJSON {
		return a.writeJSON(r)
	}
	if err := showList(a, list[adjustment]{things: "corrections", columns: []column[adjustment]{
		{title: "RR ID", cell: func(x adjustment) string { return fmt.Sprint(x.ResourceRequirementsID) }},
		{title: "RR Name", cell: func(x adjustment) string { return x.ResourceRequirementsName }},
		{title: "Resource", cell: func(x adjustment) string { return string(x.Resource) }},
		{title: "Old", cell: func(x adjustment) string { return x.Old }},
		{title: "New", cell: func(x adjustment) string { return x.New }},
		{title: "Reason", cell: func(x adjustment) string { return x.Reason }},
	}}, r.Adjustments); err != nil {
		return err
	}
	if r.DryRun && len(r.Adjustments) > 0 {
		a.note("Nothing was changed: this was a dry run.")
	}
	return nil
}
