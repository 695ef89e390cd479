package mcp

import (
	"cmp"
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

func (s *Server) addRequirementsTools() {
	add(s, tool{name: "update_job_resources", title: "Change what a job requests", changes: true, repeatable: true,
		description: "Change the memory, runtime or number of CPUs that one job requests. Only this job changes: jobs that share its requirements keep theirs. A running or completed job cannot change."}, updateJobResources)
	add(s, tool{name: "regroup_job_resources", title: "Change what groups of jobs request", changes: true, repeatable: true,
		description: "Give groups of jobs of a workflow new resource requirements, for example after analyze_resource_usage. Jobs that are not listed keep theirs. Foreign, running and completed jobs are refused one by one; a job in two groups refuses the call."}, regroupJobResources)
}

type updateJobIn struct {
	jobIn
	changeIn
	NumCPUs int64  `json:"num_cpus,omitempty" jsonschema:"new number of CPUs; absent: unchanged"`
	Memory  string `json:"memory,omitempty" jsonschema:"new memory, such as 16g; absent: unchanged"`
	Runtime string `json:"runtime,omitempty" jsonschema:"new runtime, such as PT2H or 90m; absent: unchanged"`
	Reason  string `json:"reason,omitempty" jsonschema:"why; people see it before they apply the change"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"only return what would change"`
	Force   bool   `json:"force,omitempty" jsonschema:"accept more than is known to fit anywhere"`
}

func updateJobResources(ctx context.Context, c *call, in updateJobIn) (changeOut, error) {
	j, err := c.Jobs.Get(ctx, in.JobID)
	if err != nil {
		return changeOut{}, err
	}
	out, _, err := c.change(ctx, &api.NewProposal{
		Kind: proposal.Requirements, WorkflowID: j.WorkflowID, Reason: cmp.Or(in.Reason, "no reason was given"), DryRun: in.DryRun, AllOrNothing: true, Force: in.Force,
		Requirements: []proposal.RequirementsChange{{JobIDs: []int64{in.JobID}, NumCPUs: in.NumCPUs, Memory: in.Memory, Runtime: in.Runtime}},
	}, in.changeIn)
	return out, err
}

type regroupIn struct {
	workflowIn
	changeIn
	Groups       []groupIn `json:"groups" jsonschema:"the groups of jobs with their new requirements"`
	DryRun       bool      `json:"dry_run" jsonschema:"true: only return what would change"`
	Reason       string    `json:"reason,omitempty" jsonschema:"why; people see it before they apply the change"`
	AllOrNothing bool      `json:"all_or_nothing,omitempty" jsonschema:"propose nothing if a job is refused"`
	Force        bool      `json:"force,omitempty" jsonschema:"accept more than is known to fit anywhere"`
}

type groupIn struct {
	Memory   string  `json:"memory" jsonschema:"such as 16g"`
	NumCPUs  int64   `json:"num_cpus"`
	Runtime  string  `json:"runtime" jsonschema:"such as PT2H or 90m"`
	NumGPUs  *int64  `json:"num_gpus,omitempty"`
	NumNodes int64   `json:"num_nodes,omitempty"`
	Name     string  `json:"name,omitempty" jsonschema:"name of the requirements"`
	JobIDs   []int64 `json:"job_ids"`
}

func regroupJobResources(ctx context.Context, c *call, in regroupIn) (changeOut, error) {
	n := &api.NewProposal{
		Kind: proposal.Requirements, WorkflowID: in.WorkflowID, Reason: cmp.Or(in.Reason, "no reason was given"), DryRun: in.DryRun,
		AllOrNothing: in.AllOrNothing, Force: in.Force,
	}
	for _, g := range in.Groups {
		n.Requirements = append(n.Requirements, proposal.RequirementsChange{
			JobIDs: g.JobIDs, Name: g.Name, NumCPUs: g.NumCPUs, NumGPUs: g.NumGPUs, NumNodes: g.NumNodes, Memory: g.Memory, Runtime: g.Runtime,
		})
	}
	out, _, err := c.change(ctx, n, in.changeIn)
	return out, err
}
