package mcp

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

func (s *Server) addUsageTools() {
	add(s, tool{name: "check_resource_utilization", title: "Use of resources",
		description: "Compare what jobs used with what they requested: memory, CPUs and runtime. Lists the jobs that used more, and for failed jobs which resource they may have lacked."}, checkResourceUtilization)
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
