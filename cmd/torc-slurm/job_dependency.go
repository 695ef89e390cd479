package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

// newJobDependenciesCommand groups the commands about the graph of a workflow.
func newJobDependenciesCommand(a *app) *cobra.Command {
	return newGroup(a, groupAnalysis, "job-dependencies", "What jobs wait for, read and write",
		newJobJobCommand(a),
		newJobFileCommand(a),
		newJobUserDataCommand(a),
	)
}

func newJobJobCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:   "job-job [WORKFLOW]",
		Short: "List which job waits for which",
		Example: `  torc-slurm job-dependencies job-job 12
  torc-slurm -f csv job-dependencies job-job 12 > edges.csv`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{})
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		edges, err := client.Collect(c.JobDependencies(ctx, id, listing.page))
		if err != nil {
			return err
		}
		return showList(a, list[api.JobDependency]{things: "dependencies", columns: []column[api.JobDependency]{
			{title: "Job ID", cell: func(d api.JobDependency) string { return fmt.Sprint(d.JobID) }},
			{title: "Job Name", cell: func(d api.JobDependency) string { return d.JobName }},
			{title: "Blocked By Job ID", cell: func(d api.JobDependency) string { return fmt.Sprint(d.DependsOnJobID) }},
			{title: "Blocked By Job Name", cell: func(d api.JobDependency) string { return d.DependsOnJobName }},
		}}, edges)
	}))
	return cmd
}

func newJobFileCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:               "job-file [WORKFLOW]",
		Short:             "List which jobs write and read which files",
		Example:           `  torc-slurm job-dependencies job-file 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{})
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.JobFileRelationships(ctx, id, listing.page))
		if err != nil {
			return err
		}
		return showList(a, list[api.JobFileRelationship]{things: "relationships", columns: []column[api.JobFileRelationship]{
			{title: "File ID", cell: func(r api.JobFileRelationship) string { return fmt.Sprint(r.FileID) }},
			{title: "File Name", cell: func(r api.JobFileRelationship) string { return r.FileName }},
			{title: "Producer Job ID", cell: func(r api.JobFileRelationship) string { return orEmpty(r.ProducerJobID) }},
			{title: "Producer Job Name", cell: func(r api.JobFileRelationship) string { return orEmpty(r.ProducerJobName) }},
			{title: "Consumer Job ID", cell: func(r api.JobFileRelationship) string { return orEmpty(r.ConsumerJobID) }},
			{title: "Consumer Job Name", cell: func(r api.JobFileRelationship) string { return orEmpty(r.ConsumerJobName) }},
		}}, all)
	}))
	return cmd
}

func newJobUserDataCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:               "job-user-data [WORKFLOW]",
		Short:             "List which jobs write and read which user data",
		Example:           `  torc-slurm job-dependencies job-user-data 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{})
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.JobUserDataRelationships(ctx, id, listing.page))
		if err != nil {
			return err
		}
		return showList(a, list[api.JobUserDataRelationship]{things: "relationships", columns: []column[api.JobUserDataRelationship]{
			{title: "User Data ID", cell: func(r api.JobUserDataRelationship) string { return fmt.Sprint(r.UserDataID) }},
			{title: "User Data Name", cell: func(r api.JobUserDataRelationship) string { return r.UserDataName }},
			{title: "Producer Job ID", cell: func(r api.JobUserDataRelationship) string { return orEmpty(r.ProducerJobID) }},
			{title: "Producer Job Name", cell: func(r api.JobUserDataRelationship) string { return orEmpty(r.ProducerJobName) }},
			{title: "Consumer Job ID", cell: func(r api.JobUserDataRelationship) string { return orEmpty(r.ConsumerJobID) }},
			{title: "Consumer Job Name", cell: func(r api.JobUserDataRelationship) string { return orEmpty(r.ConsumerJobName) }},
		}}, all)
	}))
	return cmd
}
