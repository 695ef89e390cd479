package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// NewDependencies returns the group of commands about what jobs wait for.
func NewDependencies(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupAnalysis, "job-dependencies", "What jobs wait for, read and write",
		newJobJob(a),
		newJobFile(a),
		newJobUserData(a),
	)
}

var dependencyColumns = cli.List[api.JobDependency]{Things: "dependencies", Columns: []cli.Column[api.JobDependency]{
	{Title: "Job ID", Cell: func(d api.JobDependency) string { return fmt.Sprint(d.JobID) }},
	{Title: "Job Name", Cell: func(d api.JobDependency) string { return d.JobName }},
	{Title: "Blocked By Job ID", Cell: func(d api.JobDependency) string { return fmt.Sprint(d.DependsOnJobID) }},
	{Title: "Blocked By Job Name", Cell: func(d api.JobDependency) string { return d.DependsOnJobName }},
}}

func newJobJob(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "job-job [WORKFLOW]",
		Short: "List which job waits for which",
		Example: `  torc-slurm job-dependencies job-job 12
  torc-slurm -f csv job-dependencies job-job 12 > edges.csv`,
	})
	listing.Add(cmd, cli.ListShorthands{})
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, dependencyColumns, c.Jobs.Dependencies(ctx, id, listing.Page))
	}))
	return cmd
}

var fileRelationshipColumns = cli.List[api.JobFileRelationship]{Things: "relationships", Columns: []cli.Column[api.JobFileRelationship]{
	{Title: "File ID", Cell: func(r api.JobFileRelationship) string { return fmt.Sprint(r.FileID) }},
	{Title: "File Name", Cell: func(r api.JobFileRelationship) string { return r.FileName }},
	{Title: "Producer Job ID", Cell: func(r api.JobFileRelationship) string { return cli.OrEmpty(r.ProducerJobID) }},
	{Title: "Producer Job Name", Cell: func(r api.JobFileRelationship) string { return cli.OrEmpty(r.ProducerJobName) }},
	{Title: "Consumer Job ID", Cell: func(r api.JobFileRelationship) string { return cli.OrEmpty(r.ConsumerJobID) }},
	{Title: "Consumer Job Name", Cell: func(r api.JobFileRelationship) string { return cli.OrEmpty(r.ConsumerJobName) }},
}}

func newJobFile(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "job-file [WORKFLOW]",
		Short:   "List which jobs write and read which files",
		Example: `  torc-slurm job-dependencies job-file 12`,
	})
	listing.Add(cmd, cli.ListShorthands{})
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, fileRelationshipColumns, c.Jobs.FileRelationships(ctx, id, listing.Page))
	}))
	return cmd
}

var userDataRelationshipColumns = cli.List[api.JobUserDataRelationship]{Things: "relationships", Columns: []cli.Column[api.JobUserDataRelationship]{
	{Title: "User Data ID", Cell: func(r api.JobUserDataRelationship) string { return fmt.Sprint(r.UserDataID) }},
	{Title: "User Data Name", Cell: func(r api.JobUserDataRelationship) string { return r.UserDataName }},
	{Title: "Producer Job ID", Cell: func(r api.JobUserDataRelationship) string { return cli.OrEmpty(r.ProducerJobID) }},
	{Title: "Producer Job Name", Cell: func(r api.JobUserDataRelationship) string { return cli.OrEmpty(r.ProducerJobName) }},
	{Title: "Consumer Job ID", Cell: func(r api.JobUserDataRelationship) string { return cli.OrEmpty(r.ConsumerJobID) }},
	{Title: "Consumer Job Name", Cell: func(r api.JobUserDataRelationship) string { return cli.OrEmpty(r.ConsumerJobName) }},
}}

func newJobUserData(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "job-user-data [WORKFLOW]",
		Short:   "List which jobs write and read which user data",
		Example: `  torc-slurm job-dependencies job-user-data 12`,
	})
	listing.Add(cmd, cli.ListShorthands{})
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, userDataRelationshipColumns, c.Jobs.UserDataRelationships(ctx, id, listing.Page))
	}))
	return cmd
}
