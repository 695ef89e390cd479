package mcp

import (
	"cmp"
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
)

func (s *Server) addUsageTools() {
	add(s, tool{name: "check_resource_utilization", title: "Use of resources",
		description: "Compare what jobs used with what they requested: memory, CPUs and runtime. Lists the jobs that used more, and for failed jobs which resource they may have lacked."}, checkResourceUtilization)
	add(s, tool{name: "analyze_resource_usage", title: "Use of resources by requirements",
		description: "For each set of resource requirements: what is requested, and minimum, maximum, mean and median of the peak memory, CPU and runtime of its jobs, with the jobs that used most. Use it before regroup_job_resources, to request less or to split jobs into groups."}, analyzeResourceUsage)
}

type utilizationIn struct {
	workflowIn
	pageIn
	IncludeFailed *bool `json:"include_failed,omitempty" jsonschema:"also consider attempts that did not succeed; true by default"`
}

type utilizationOut struct {
	WorkflowID     int64                `json:"workflow_id"`
	TotalResults   int                  `json:"total_results"`
	OverUsed       int                  `json:"over_utilization_count"`
	Violations     []api.ResourceUse    `json:"violations" jsonschema:"jobs that used more than they requested"`
	FailedLacked   []api.FailedResource `json:"resource_violations,omitempty" jsonschema:"failed jobs, with the resource that they may have lacked"`
	FailedLackedOf int                  `json:"resource_violations_count"`
	pageOut
}

func checkResourceUtilization(ctx context.Context, c *call, in utilizationIn) (out utilizationOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	r, err := c.ResourceRequirements.Check(ctx, in.WorkflowID, api.ResourceFilter{IncludeFailed: in.IncludeFailed == nil || *in.IncludeFailed})
	if err != nil {
		return out, err
	}
	out = utilizationOut{WorkflowID: in.WorkflowID, TotalResults: r.TotalResults, OverUsed: r.OverUtilizationCount, FailedLackedOf: len(r.ResourceViolations)}
	violations, next := pageOf(page, r.Violations)
	failed, more := pageOf(page, r.ResourceViolations)
	out.Violations, out.FailedLacked = violations, failed
	if out.pageOut = next; next.NextCursor == "" {
		out.pageOut = more
	}
	return out, nil
}

type analyzeUsageIn struct {
	workflowIn
	pageIn
	CompletedOnly bool `json:"completed_only,omitempty" jsonschema:"only jobs that have completed"`
}

type usageGroup struct {
	api.RequirementsStatistics
	JobCount int `json:"job_count"`
}

type analyzeUsageOut struct {
	WorkflowID int64        `json:"workflow_id"`
	Groups     []usageGroup `json:"groups" jsonschema:"by requirements, with the 20 jobs that used most memory"`
	pageOut
}

func analyzeResourceUsage(ctx context.Context, c *call, in analyzeUsageIn) (out analyzeUsageOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	r, err := c.ResourceRequirements.Statistics(ctx, in.WorkflowID, in.CompletedOnly)
	if err != nil {
		return out, err
	}
	groups, next := pageOf(page, r.Groups)
	out = analyzeUsageOut{WorkflowID: in.WorkflowID, Groups: []usageGroup{}, pageOut: next}
	for _, g := range groups {
		slices.SortStableFunc(g.Jobs, func(a, b api.MeasuredJob) int { return cmp.Compare(value(b.PeakMemoryBytes), value(a.PeakMemoryBytes)) })
		n := len(g.Jobs)
		g.Jobs = g.Jobs[:min(n, shownNames)]
		out.Groups = append(out.Groups, usageGroup{g, n})
	}
	return out, nil
}
