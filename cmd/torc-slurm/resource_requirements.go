package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

// newResourceRequirementsCommand groups the commands about what jobs need.
func newResourceRequirementsCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "resource-requirements", "What jobs need of a node",
		newResourceRequirementsCreateCommand(a),
		newResourceRequirementsListCommand(a),
		newResourceRequirementsGetCommand(a),
		newResourceRequirementsUpdateCommand(a),
		newResourceRequirementsDeleteCommand(a),
	)
}

var resourceRequirementsColumns = list[api.ResourceRequirements]{
	things: "resource requirements", columns: []column[api.ResourceRequirements]{
		{title: "ID", cell: func(r api.ResourceRequirements) string { return orEmpty(r.ID) }},
		{title: "Name", cell: func(r api.ResourceRequirements) string { return r.Name }},
		{title: "CPUs", cell: func(r api.ResourceRequirements) string { return orEmpty(r.NumCPUs) }},
		{title: "GPUs", cell: func(r api.ResourceRequirements) string { return orEmpty(r.NumGPUs) }},
		{title: "Nodes", cell: func(r api.ResourceRequirements) string { return orEmpty(r.NumNodes) }},
		{title: "Memory", cell: func(r api.ResourceRequirements) string { return orEmpty(r.Memory) }},
		{title: "Runtime", cell: func(r api.ResourceRequirements) string { return orEmpty(r.Runtime) }},
	},
}

// requirementFlags are the numbers of resource requirements.
type requirementFlags struct {
	name              string
	cpus, gpus, nodes int64
	memory, runtime   string
}

func (r *requirementFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&r.name, "name", "n", "", "`NAME` of the requirements")
	f.Int64Var(&r.cpus, "num-cpus", 1, "CPUs per node")
	f.Int64Var(&r.gpus, "num-gpus", 0, "GPUs per node")
	f.Int64Var(&r.nodes, "num-nodes", 1, "nodes")
	f.StringVarP(&r.memory, "memory", "m", "1m", "`MEMORY` per node: a whole number with k, m, g or t")
	f.StringVarP(&r.runtime, "runtime", "r", "PT1M", "`RUNTIME`, ISO 8601")
}

// apply lays over rr what was given on the command line.
func (r *requirementFlags) apply(cmd *cobra.Command, rr *api.ResourceRequirements) {
	rr.Name = firstOf(r.name, rr.Name)
	for flag, set := range map[string]func(){
		"num-cpus":  func() { rr.NumCPUs = &r.cpus },
		"num-gpus":  func() { rr.NumGPUs = &r.gpus },
		"num-nodes": func() { rr.NumNodes = &r.nodes },
		"memory":    func() { rr.Memory = &r.memory },
		"runtime":   func() { rr.Runtime = &r.runtime },
	} {
		if cmd.Flags().Changed(flag) {
			set()
		}
	}
}

func (r *requirementFlags) check() error {
	return checkRequirements(&api.ResourceRequirements{
		NumCPUs: &r.cpus, NumGPUs: &r.gpus, NumNodes: &r.nodes, Memory: &r.memory, Runtime: &r.runtime,
	})
}

func newResourceRequirementsCreateCommand(a *app) *cobra.Command {
	var flags requirementFlags
	cmd := &cobra.Command{
		Use:               "create [WORKFLOW] --name NAME",
		Short:             "Add resource requirements to a workflow",
		Example:           `  torc-slurm resource-requirements create 12 -n big --num-cpus 16 -m 64g --runtime PT4H`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	flags.add(cmd)
	_ = cmd.MarkFlagRequired("name")
	cmd.RunE = checked(flags.check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		rr := api.ResourceRequirements{WorkflowID: id}
		flags.apply(cmd, &rr)
		created, err := c.CreateResourceRequirement(ctx, &rr)
		if err != nil {
			return err
		}
		return a.showMessage(created, "Created resource requirements %s", orEmpty(created.ID))
	}))
	return cmd
}

func newResourceRequirementsListCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:               "list [WORKFLOW]",
		Short:             "List the resource requirements of a workflow",
		Example:           `  torc-slurm resource-requirements list 12 --sort-by memory_bytes --reverse-sort`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{}, "name", "num_cpus", "num_gpus", "num_nodes", "memory", "runtime", "memory_bytes", "runtime_s")
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.ResourceRequirements(ctx, client.ResourceRequirementsFilter{Page: listing.page, WorkflowID: id}))
		if err != nil {
			return err
		}
		return showList(a, resourceRequirementsColumns, all)
	}))
	return cmd
}

func newResourceRequirementsGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get RESOURCE_REQUIREMENTS",
		Short:       "Show resource requirements",
		Example:     `  torc-slurm resource-requirements get 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("resource requirements record", func(ctx context.Context, c *connection, id int64) error {
			r, err := c.ResourceRequirement(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(r, func(w io.Writer) {
				writeFields(w, field{"ID", orEmpty(r.ID)}, field{"Workflow", orEmpty(&r.WorkflowID)}, field{"Name", r.Name},
					field{"CPUs", orEmpty(r.NumCPUs)}, field{"GPUs", orEmpty(r.NumGPUs)}, field{"Nodes", orEmpty(r.NumNodes)},
					field{"Memory", orEmpty(r.Memory)}, field{"Runtime", orEmpty(r.Runtime)})
			})
		}),
	}
}

func newResourceRequirementsUpdateCommand(a *app) *cobra.Command {
	var flags requirementFlags
	cmd := &cobra.Command{
		Use:         "update RESOURCE_REQUIREMENTS",
		Short:       "Change resource requirements",
		Long:        `Change resource requirements. It counts for all jobs that share them, from their next attempt on.`,
		Example:     `  torc-slurm resource-requirements update 3 -m 128g --runtime PT8H`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
	}
	flags.add(cmd)
	for name, none := range map[string]string{"num-cpus": "0", "num-gpus": "0", "num-nodes": "0", "memory": "", "runtime": ""} {
		cmd.Flags().Lookup(name).DefValue = none // what is not given is kept
	}
	cmd.MarkFlagsOneRequired("name", "num-cpus", "num-gpus", "num-nodes", "memory", "runtime")
	cmd.RunE = checked(flags.check, a.idCommand("resource requirements record", func(ctx context.Context, c *connection, id int64) error {
		rr, err := c.ResourceRequirement(ctx, id)
		if err != nil {
			return err
		}
		flags.apply(cmd, rr)
		if rr, err = c.UpdateResourceRequirement(ctx, id, rr); err != nil {
			return err
		}
		return a.showMessage(rr, "Updated resource requirements %d", id)
	}))
	return cmd
}

func newResourceRequirementsDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "delete RESOURCE_REQUIREMENTS",
		Short:       "Delete resource requirements that no job has",
		Example:     `  torc-slurm resource-requirements delete 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("resource requirements record", func(ctx context.Context, c *connection, id int64) error {
			r, err := c.DeleteResourceRequirement(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(r, "Deleted resource requirements %d", id)
		}),
	}
}
