package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobRequirements is a job with its resource requirements.
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

func newListResourceRequirements(a *cli.Factory) *cobra.Command {
	var jobID int64
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list-resource-requirements [WORKFLOW]",
		Short: "List jobs with their resource requirements",
		Example: `  torc-slurm jobs list-resource-requirements 12
  torc-slurm jobs list-resource-requirements 12 -j 42`,
		Annotations: cli.WithCSV(cli.ServerExits()),
	})
	cmd.Flags().Int64VarP(&jobID, "job-id", "j", 0, "only this job")
	cmd.RunE = a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		jobs, err := jobsOf(ctx, c, id, cli.Given(cmd, "job-id", jobID))
		if err != nil {
			return err
		}
		byID, err := apidata.RequirementsByID(ctx, c, id)
		if err != nil {
			return err
		}
		rows := make([]jobRequirements, 0, len(jobs))
		for _, j := range jobs {
			row := jobRequirements{JobID: cli.OrZero(j.ID), JobName: j.Name, RRID: j.ResourceRequirementsID}
			if rr, ok := byID[cli.OrZero(j.ResourceRequirementsID)]; ok {
				row.RRName, row.CPUs, row.GPUs, row.Nodes = rr.Name, rr.NumCPUs, rr.NumGPUs, rr.NumNodes
				row.Memory, row.Runtime = cli.OrEmpty(rr.Memory), cli.OrEmpty(rr.Runtime)
			}
			rows = append(rows, row)
		}
		return cli.ShowList(a, cli.List[jobRequirements]{Things: "jobs", Columns: []cli.Column[jobRequirements]{
			{Title: "Job ID", Cell: func(r jobRequirements) string { return fmt.Sprint(r.JobID) }},
			{Title: "Job Name", Cell: func(r jobRequirements) string { return r.JobName }},
			{Title: "RR ID", Cell: func(r jobRequirements) string { return cli.OrEmpty(r.RRID) }},
			{Title: "RR Name", Cell: func(r jobRequirements) string { return r.RRName }},
			{Title: "CPUs", Cell: func(r jobRequirements) string { return cli.OrEmpty(r.CPUs) }},
			{Title: "GPUs", Cell: func(r jobRequirements) string { return cli.OrEmpty(r.GPUs) }},
			{Title: "Nodes", Cell: func(r jobRequirements) string { return cli.OrEmpty(r.Nodes) }},
			{Title: "Memory", Cell: func(r jobRequirements) string { return r.Memory }},
			{Title: "Runtime", Cell: func(r jobRequirements) string { return r.Runtime }},
		}}, rows)
	})
	return cmd
}

// jobsOf returns the jobs of a workflow, or only the one with jobID.
func jobsOf(ctx context.Context, c *cli.Connection, workflowID int64, jobID *int64) ([]api.Job, error) {
	if jobID == nil {
		return client.Collect(c.Jobs.List(ctx, client.JobFilter{WorkflowID: workflowID}))
	}
	j, err := c.Jobs.Get(ctx, *jobID)
	if err != nil {
		return nil, err
	}
	if j.WorkflowID != workflowID {
		return nil, workflow.Errorf(workflow.CodeNotFound, "job %d belongs to workflow %d, not to workflow %d", *jobID, j.WorkflowID, workflowID)
	}
	return []api.Job{*j}, nil
}

// jobHandler is a job with its failure handler.
type jobHandler struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
	FHID    int64  `json:"failure_handler_id"`
	FHName  string `json:"failure_handler_name"`
	Rules   string `json:"rules_summary"`
}

func newListFailureHandlers(a *cli.Factory) *cobra.Command {
	var jobID int64
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:         "list-failure-handlers [WORKFLOW]",
		Short:       "List jobs with their failure handlers",
		Long:        `List the jobs that have a failure handler.`,
		Example:     `  torc-slurm jobs list-failure-handlers 12`,
		Annotations: cli.WithCSV(cli.ServerExits()),
	})
	cmd.Flags().Int64VarP(&jobID, "job-id", "j", 0, "only this job")
	cmd.RunE = a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		jobs, err := jobsOf(ctx, c, id, cli.Given(cmd, "job-id", jobID))
		if err != nil {
			return err
		}
		byID := make(map[int64]api.FailureHandler)
		for h, err := range c.FailureHandlers.List(ctx, id, client.Page{}) {
			if err != nil {
				return err
			}
			byID[cli.OrZero(h.ID)] = h
		}
		rows := []jobHandler{}
		for _, j := range jobs {
			if h, ok := byID[cli.OrZero(j.FailureHandlerID)]; ok {
				rows = append(rows, jobHandler{cli.OrZero(j.ID), j.Name, cli.OrZero(h.ID), h.Name, apidata.RulesSummary(h.Rules)})
			}
		}
		return cli.ShowList(a, cli.List[jobHandler]{Things: "jobs", Columns: []cli.Column[jobHandler]{
			{Title: "Job ID", Cell: func(r jobHandler) string { return fmt.Sprint(r.JobID) }},
			{Title: "Job Name", Cell: func(r jobHandler) string { return r.JobName }},
			{Title: "FH ID", Cell: func(r jobHandler) string { return fmt.Sprint(r.FHID) }},
			{Title: "FH Name", Cell: func(r jobHandler) string { return r.FHName }},
			{Title: "Rules Summary", Cell: func(r jobHandler) string { return r.Rules }},
		}}, rows)
	})
	return cmd
}
