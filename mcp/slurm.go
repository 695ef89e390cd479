package mcp

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
)

func (s *Server) addSlurmTools() {
	add(s, tool{name: "get_slurm_sacct", title: "Accounting of Slurm", asksSlurm: true,
		description: "Ask Slurm for the accounting records of a workflow's allocations and their steps: state, exit code, elapsed and CPU time, peak memory, nodes. Each call asks Slurm; do not call it in a loop."}, getSlurmSacct)
	add(s, tool{name: "plan_allocations", title: "Plan allocations", asksSlurm: true,
		description: "Plan which allocations the jobs of a specification need on this cluster: partitions, numbers, walltimes, the most that they cost, how busy the partitions are, and when Slurm would start them. Nothing is created or submitted. torc-slurm submit requests allocations by itself, so that a plan is only needed for an answer about cost or waiting."}, planAllocations)
}

type sacctIn struct {
	workflowIn
	pageIn
}

type sacctOut struct {
	WorkflowID     int64             `json:"workflow_id"`
	TotalSlurmJobs int               `json:"total_slurm_jobs"`
	Records        []api.SlurmRecord `json:"records"`
	Errors         []string          `json:"errors" jsonschema:"Slurm jobs without a record; the first 50"`
	pageOut
}

func getSlurmSacct(ctx context.Context, c *call, in sacctIn) (out sacctOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	r, err := c.Workflows.SlurmAccounting(ctx, in.WorkflowID)
	if err != nil {
		return out, err
	}
	out = sacctOut{WorkflowID: r.WorkflowID, TotalSlurmJobs: r.TotalSlurmJobs, Errors: firstLines(r.Errors)}
	out.Records, out.pageOut = pageOf(page, r.Records)
	return out, nil
}

// PlanRequest says how allocations are planned for a specification.
type PlanRequest struct {
	Account, Partition, Profile string // empty: those of the specification or the site
	NoEstimates                 bool   // do not ask Slurm when allocations would start
}

type planAllocationsIn struct {
	SpecJSON     string `json:"spec_json" jsonschema:"text of the specification in JSON or YAML"`
	Account      string `json:"account" jsonschema:"the account that is charged"`
	Partition    string `json:"partition,omitempty" jsonschema:"the partition for all jobs; by default the best for each"`
	HPCProfile   string `json:"hpc_profile,omitempty" jsonschema:"the cluster, if it is not the one of this machine"`
	SkipTestOnly bool   `json:"skip_test_only,omitempty" jsonschema:"do not ask Slurm when allocations would start"`
}

type planAllocationsOut struct {
	api.AllocationPlan
}

func planAllocations(ctx context.Context, c *call, in planAllocationsIn) (out planAllocationsOut, err error) {
	loaded, err := c.server.parse(in.SpecJSON)
	if err != nil {
		return out, err
	}
	plan, err := c.server.Plan(ctx, c.Client, loaded, PlanRequest{in.Account, in.Partition, in.HPCProfile, in.SkipTestOnly})
	if err != nil {
		return out, err
	}
	return planAllocationsOut{*plan}, nil
}
