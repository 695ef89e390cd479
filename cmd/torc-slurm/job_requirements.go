package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobRequirements is a job with what it needs.
type jobRequirements struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
	RRID    *int64 `json:"resource_requirements_id,omitempty"`
	RRName  string `json:"resource_requirements_name,omitempty"`
	CPUs    *int64 `json:"num_cpus,omitempty"`
	GPUs    *int64 `json:"num_gpus,omitempty"`
	Nodes   *int64 `json:"num_nodes,omitempty"`
	Memory  string `json:"memory,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

func newJobsListResourceRequirementsCommand(a *app) *cobra.Command {
	var jobID int64
	cmd := &cobra.Command{
		Use:   "list-resource-requirements [WORKFLOW]",
		Short: "List jobs with what they need",
		Example: `  torc-slurm jobs list-resource-requirements 12
  torc-slurm jobs list-resource-requirements 12 -j 42`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.Flags().Int64VarP(&jobID, "job-id", "j", 0, "only this job")
	cmd.RunE = a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		jobs, err := a.jobsOf(ctx, c, id, given(cmd, "job-id", jobID))
		if err != nil {
			return err
		}
		byID, err := requirementsByID(ctx, c, id)
		if err != nil {
			return err
		}
		rows := make([]jobRequirements, 0, len(jobs))
		for _, j := range jobs {
			row := jobRequirements{JobID: idOf(j.ID), JobName: j.Name, RRID: j.ResourceRequirementsID}
			if rr, ok := byID[idOf(j.ResourceRequirementsID)]; ok {
				row.RRName, row.CPUs, row.GPUs, row.Nodes = rr.Name, rr.NumCPUs, rr.NumGPUs, rr.NumNodes
				row.Memory, row.Runtime = orEmpty(rr.Memory), orEmpty(rr.Runtime)
			}
			rows = append(rows, row)
		}
		return showList(a, list[jobRequirements]{things: "jobs", columns: []column[jobRequirements]{
			{title: "Job ID", cell: func(r jobRequirements) string { return fmt.Sprint(r.JobID) }},
			{title: "Job Name", cell: func(r jobRequirements) string { return r.JobName }},
			{title: "RR ID", cell: func(r jobRequirements) string { return orEmpty(r.RRID) }},
			{title: "RR Name", cell: func(r jobRequirements) string { return r.RRName }},
			{title: "CPUs", cell: func(r jobRequirements) string { return orEmpty(r.CPUs) }},
			{title: "GPUs", cell: func(r jobRequirements) string { return orEmpty(r.GPUs) }},
			{title: "Nodes", cell: func(r jobRequirements) string { return orEmpty(r.Nodes) }},
			{title: "Memory", cell: func(r jobRequirements) string { return r.Memory }},
			{title: "Runtime", cell: func(r jobRequirements) string { return r.Runtime }},
		}}, rows)
	})
	return cmd
}

// jobsOf lists the jobs of a workflow, or one of them.
func (a *app) jobsOf(ctx context.Context, c *connection, workflowID int64, jobID *int64) ([]api.Job, error) {
	if jobID == nil {
		return client.Collect(c.Jobs(ctx, client.JobFilter{WorkflowID: workflowID}))
	}
	j, err := c.Job(ctx, *jobID)
	if err != nil {
		return nil, err
	}
	if j.WorkflowID != workflowID {
		return nil, workflow.Errorf(workflow.CodeNotFound, "job %d is not of workflow %d but of workflow %d", *jobID, workflowID, j.WorkflowID)
	}
	return []api.Job{*j}, nil
}

func requirementsByID(ctx context.Context, c *connection, workflowID int64) (map[int64]api.ResourceRequirements, error) {
	byID := make(map[int64]api.ResourceRequirements)
	for rr, err := range c.ResourceRequirements(ctx, client.ResourceRequirementsFilter{WorkflowID: workflowID}) {
		if err != nil {
			return nil, err
		}
		byID[idOf(rr.ID)] = rr
	}
	return byID, nil
}

// jobHandler is a job with its failure handler.
type jobHandler struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
	FHID    int64  `json:"failure_handler_id"`
	FHName  string `json:"failure_handler_name"`
	Rules   string `json:"rules_summary"`
}

func newJobsListFailureHandlersCommand(a *app) *cobra.Command {
	var jobID int64
	cmd := &cobra.Command{
		Use:               "list-failure-handlers [WORKFLOW]",
		Short:             "List jobs with their failure handlers",
		Long:              `List the jobs that have a failure handler.`,
		Example:           `  torc-slurm jobs list-failure-handlers 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.Flags().Int64VarP(&jobID, "job-id", "j", 0, "only this job")
	cmd.RunE = a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		jobs, err := a.jobsOf(ctx, c, id, given(cmd, "job-id", jobID))
		if err != nil {
			return err
		}
		byID := make(map[int64]api.FailureHandler)
		for h, err := range c.FailureHandlers(ctx, id, client.Page{}) {
			if err != nil {
				return err
			}
			byID[idOf(h.ID)] = h
		}
		rows := []jobHandler{}
		for _, j := range jobs {
			if h, ok := byID[idOf(j.FailureHandlerID)]; ok {
				rows = append(rows, jobHandler{idOf(j.ID), j.Name, idOf(h.ID), h.Name, rulesSummary(h.Rules)})
			}
		}
		return showList(a, list[jobHandler]{things: "jobs", columns: []column[jobHandler]{
			{title: "Job ID", cell: func(r jobHandler) string { return fmt.Sprint(r.JobID) }},
			{title: "Job Name", cell: func(r jobHandler) string { return r.JobName }},
			{title: "FH ID", cell: func(r jobHandler) string { return fmt.Sprint(r.FHID) }},
			{title: "FH Name", cell: func(r jobHandler) string { return r.FHName }},
			{title: "Rules Summary", cell: func(r jobHandler) string { return r.Rules }},
		}}, rows)
	})
	return cmd
}

// rulesSummary says in a line what the rules of a failure handler do.
func rulesSummary(text string) string {
	var rules []workflow.FailureRule
	if json.Unmarshal([]byte(text), &rules) != nil {
		return text
	}
	var parts []string
	for _, r := range rules {
		what := "exit " + joined(r.ExitCodes)
		if r.MatchAllExitCodes {
			what = "any failure"
		}
		part := fmt.Sprintf("%s: %s", what, workflow.CountOf(int64(r.MaxRetries), "attempt", "attempts"))
		if r.RecoveryScript != "" {
			part += " after " + r.RecoveryScript
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
