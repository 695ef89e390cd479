package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// resourceUse is a row of workflows check-resources.
type resourceUse struct {
	JobID           int64             `json:"job_id"`
	JobName         string            `json:"job_name"`
	ResourceType    workflow.Resource `json:"resource_type"`
	Specified       string            `json:"specified"`
	PeakUsed        string            `json:"peak_used"`
	OverUtilization string            `json:"over_utilization"`
}

// resourceReport is what the command says in JSON.
type resourceReport struct {
	WorkflowID           int64            `json:"workflow_id"`
	RunID                *int64           `json:"run_id,omitempty"`
	TotalResults         int              `json:"total_results"`
	OverUtilizationCount int              `json:"over_utilization_count"`
	Violations           []resourceUse    `json:"violations"`
	WithinLimits         []resourceUse    `json:"within_limits,omitempty"`
	ViolationsCount      *int             `json:"resource_violations_count,omitempty"`
	ResourceViolations   []failedResource `json:"resource_violations,omitempty"`
}

// failedResource says what a failed job may have had too little of.
type failedResource struct {
	JobID                 int64   `json:"job_id"`
	JobName               string  `json:"job_name"`
	ReturnCode            int64   `json:"return_code"`
	ExecTimeMinutes       float64 `json:"exec_time_minutes"`
	ConfiguredMemory      string  `json:"configured_memory"`
	ConfiguredRuntime     string  `json:"configured_runtime"`
	ConfiguredCPUs        int64   `json:"configured_cpus"`
	PeakMemoryBytes       *int64  `json:"peak_memory_bytes,omitempty"`
	PeakMemoryFormatted   string  `json:"peak_memory_formatted,omitempty"`
	MemoryViolation       bool    `json:"memory_violation,omitempty"`
	OOMReason             string  `json:"oom_reason,omitempty"`
	MemoryOverUtilization string  `json:"memory_over_utilization,omitempty"`
	LikelyTimeout         bool    `json:"likely_timeout,omitempty"`
	TimeoutReason         string  `json:"timeout_reason,omitempty"`
	RuntimeUtilization    string  `json:"runtime_utilization,omitempty"`
	LikelyCPUViolation    bool    `json:"likely_cpu_violation,omitempty"`
	PeakCPUPercent        float64 `json:"peak_cpu_percent,omitempty"`
	LikelyRuntime         bool    `json:"likely_runtime_violation,omitempty"`
}

// newWorkflowsCheckResourcesCommand makes check-resources, which was a report
// once.
func newWorkflowsCheckResourcesCommand(a *app, use string) *cobra.Command {
	var (
		run                int64
		all, includeFailed bool
		least              float64
	)
	cmd := &cobra.Command{
		Use:   use,
		Short: "Compare what jobs used with what they asked for",
		Long: `Compare the peak memory, peak CPU and execution time of jobs with their resource
requirements, and list the jobs that used more. The requirements named default
are not compared: nothing is enforced for them.`,
		Example: `  torc-slurm workflows check-resources 12
  torc-slurm workflows check-resources 12 --all --include-failed
  torc-slurm workflows correct-resources 12 --dry-run     what to change`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	f := cmd.Flags()
	f.Int64VarP(&run, "run-id", "r", 0, "of this `RUN` (default: the latest result of each job)")
	f.BoolVarP(&all, "all", "a", false, "also what stayed within its limits")
	f.BoolVar(&includeFailed, "include-failed", false, "also attempts that did not succeed")
	f.Float64Var(&least, "min-over-utilization", 1, "leave out less than so many `PERCENT` too much")
	cmd.RunE = a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		m, err := a.measurements(ctx, c, id, given(cmd, "run-id", run))
		if err != nil {
			return err
		}
		report := m.report(all, includeFailed, least)
		report.RunID = given(cmd, "run-id", run)
		if a.format == formatJSON {
			return a.writeJSON(report)
		}
		return showList(a, resourceUseColumns, append(report.Violations, report.WithinLimits...))
	})
	return cmd
}

var resourceUseColumns = list[resourceUse]{things: "comparisons", columns: []column[resourceUse]{
	{title: "Job ID", cell: func(u resourceUse) string { return fmt.Sprint(u.JobID) }},
	{title: "Job Name", cell: func(u resourceUse) string { return u.JobName }},
	{title: "Resource", cell: func(u resourceUse) string { return string(u.ResourceType) }},
	{title: "Specified", cell: func(u resourceUse) string { return u.Specified }},
	{title: "Peak Used", cell: func(u resourceUse) string { return u.PeakUsed }},
	{title: "Utilization", cell: func(u resourceUse) string { return u.OverUtilization }},
}}

// measurements are the results of a workflow beside what its jobs asked for.
type measurements struct {
	workflowID   int64
	config       *workflow.ExecutionConfig
	uses         []workflow.JobUse
	requirements map[int64]api.ResourceRequirements
	jobsOf       map[int64]int // number of jobs by requirements id
}

func (a *app) measurements(ctx context.Context, c *connection, id int64, run *int64) (*measurements, error) {
	w, err := c.Workflow(ctx, id)
	if err != nil {
		return nil, err
	}
	m := &measurements{workflowID: id, config: w.ExecutionConfig, jobsOf: make(map[int64]int)}
	if m.requirements, err = requirementsByID(ctx, c, id); err != nil {
		return nil, err
	}
	needs := make(map[int64]workflow.ResourceRequirements) // by job
	for j, err := range c.Jobs(ctx, client.JobFilter{WorkflowID: id}) {
		if err != nil {
			return nil, err
		}
		rr := m.requirements[idOf(j.ResourceRequirementsID)]
		needs[idOf(j.ID)] = domainRequirements(rr)
		m.jobsOf[idOf(rr.ID)]++
	}
	for r, err := range c.Results(ctx, client.ResultFilter{WorkflowID: id, RunID: run, AllRuns: run != nil}) {
		if err != nil {
			return nil, err
		}
		m.uses = append(m.uses, workflow.JobUse{
			JobID: r.JobID, JobName: orEmpty(r.JobName), Status: r.Status, ReturnCode: r.ReturnCode, ExecSeconds: r.ExecTimeMinutes * 60,
			PeakMemoryBytes: r.PeakMemoryBytes, PeakCPUPercent: r.PeakCPUPercent, Requirements: needs[r.JobID],
		})
	}
	return m, nil
}

func domainRequirements(r api.ResourceRequirements) workflow.ResourceRequirements {
	return workflow.ResourceRequirements{
		ID: idOf(r.ID), WorkflowID: r.WorkflowID, Name: r.Name, NumCPUs: idOf(r.NumCPUs), NumGPUs: idOf(r.NumGPUs),
		NumNodes: idOf(r.NumNodes), Memory: orEmpty(r.Memory), Runtime: orEmpty(r.Runtime),
	}
}

func (m *measurements) report(all, includeFailed bool, least float64) resourceReport {
	report := resourceReport{WorkflowID: m.workflowID, Violations: []resourceUse{}}
	var failed []failedResource
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
			row := resourceUse{use.JobID, use.JobName, use.Resource, use.RequestedText(), use.UsedText(), fmt.Sprintf("%+.1f%%", over)}
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

// failure says what a job that did not succeed may have had too little of.
func (m *measurements) failure(u workflow.JobUse) failedResource {
	rr := u.Requirements
	f := failedResource{
		JobID: u.JobID, JobName: u.JobName, ReturnCode: u.ReturnCode, ExecTimeMinutes: u.ExecSeconds / 60,
		ConfiguredMemory: rr.Memory, ConfiguredRuntime: rr.Runtime, ConfiguredCPUs: rr.NumCPUs,
		PeakMemoryBytes: u.PeakMemoryBytes, PeakMemoryFormatted: bytesText(u.PeakMemoryBytes),
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

// only keeps the uses of some jobs.
func (m *measurements) only(ids []int64) {
	m.uses = slices.DeleteFunc(m.uses, func(u workflow.JobUse) bool { return !slices.Contains(ids, u.JobID) })
}
