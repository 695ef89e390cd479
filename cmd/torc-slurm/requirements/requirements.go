// Package requirements has the commands about the resource requirements of jobs.
package requirements

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands about resource requirements.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "resource-requirements", "Resources that jobs need",
		newCreate(a),
		newList(a),
		newGet(a),
		newUpdate(a),
		newDelete(a),
	)
}

var resourceRequirementsColumns = cli.List[api.ResourceRequirements]{
	Things: "resource requirements", Columns: []cli.Column[api.ResourceRequirements]{
		{Title: "ID", Cell: func(r api.ResourceRequirements) string { return cli.OrEmpty(r.ID) }},
		{Title: "Name", Cell: func(r api.ResourceRequirements) string { return r.Name }},
		{Title: "CPUs", Cell: func(r api.ResourceRequirements) string { return cli.OrEmpty(r.NumCPUs) }},
		{Title: "GPUs", Cell: func(r api.ResourceRequirements) string { return cli.OrEmpty(r.NumGPUs) }},
		{Title: "Nodes", Cell: func(r api.ResourceRequirements) string { return cli.OrEmpty(r.NumNodes) }},
		{Title: "Memory", Cell: func(r api.ResourceRequirements) string { return cli.OrEmpty(r.Memory) }},
		{Title: "Runtime", Cell: func(r api.ResourceRequirements) string { return cli.OrEmpty(r.Runtime) }},
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

// apply sets the fields of rr that were given on the command line.
func (r *requirementFlags) apply(cmd *cobra.Command, rr *api.ResourceRequirements) {
	rr.Name = cli.FirstOf(r.name, rr.Name)
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
	return apidata.CheckRequirements(&api.ResourceRequirements{
		NumCPUs: &r.cpus, NumGPUs: &r.gpus, NumNodes: &r.nodes, Memory: &r.memory, Runtime: &r.runtime,
	})
}

func newCreate(a *cli.Factory) *cobra.Command {
	var flags requirementFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "create [WORKFLOW] --name NAME",
		Short:   "Add resource requirements to a workflow",
		Example: `  torc-slurm resource-requirements create 12 -n big --num-cpus 16 -m 64g --runtime PT4H`,
	})
	flags.add(cmd)
	_ = cmd.MarkFlagRequired("name")
	cmd.RunE = cli.Checked(flags.check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		rr := api.ResourceRequirements{WorkflowID: id}
		flags.apply(cmd, &rr)
		created, err := c.ResourceRequirements.Create(ctx, &rr)
		if err != nil {
			return err
		}
		return a.ShowMessage(created, "Created resource requirements %s", cli.OrEmpty(created.ID))
	}))
	return cmd
}

func newList(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "list [WORKFLOW]",
		Short:   "List the resource requirements of a workflow",
		Example: `  torc-slurm resource-requirements list 12 --sort-by memory_bytes --reverse-sort`,
	})
	listing.Add(cmd, cli.ListShorthands{}, "name", "num_cpus", "num_gpus", "num_nodes", "memory", "runtime", "memory_bytes", "runtime_s")
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, resourceRequirementsColumns, c.ResourceRequirements.List(ctx, client.ResourceRequirementsFilter{Page: listing.Page, WorkflowID: id}))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get RESOURCE_REQUIREMENTS",
		Short:       "Show resource requirements",
		Example:     `  torc-slurm resource-requirements get 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("resource requirements record", func(ctx context.Context, c *cli.Connection, id int64) error {
			r, err := c.ResourceRequirements.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(r, func(w io.Writer) {
				cli.WriteFields(w, cli.Field{"ID", cli.OrEmpty(r.ID)}, cli.Field{"Workflow", cli.OrEmpty(&r.WorkflowID)}, cli.Field{"Name", r.Name},
					cli.Field{"CPUs", cli.OrEmpty(r.NumCPUs)}, cli.Field{"GPUs", cli.OrEmpty(r.NumGPUs)}, cli.Field{"Nodes", cli.OrEmpty(r.NumNodes)},
					cli.Field{"Memory", cli.OrEmpty(r.Memory)}, cli.Field{"Runtime", cli.OrEmpty(r.Runtime)})
			})
		}),
	}
}

func newUpdate(a *cli.Factory) *cobra.Command {
	var flags requirementFlags
	cmd := &cobra.Command{
		Use:         "update RESOURCE_REQUIREMENTS",
		Short:       "Change resource requirements",
		Long:        `Change resource requirements. The change applies to all jobs that share them, from their next attempt on.`,
		Example:     `  torc-slurm resource-requirements update 3 -m 128g --runtime PT8H`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
	}
	flags.add(cmd)
	for name, none := range map[string]string{"num-cpus": "0", "num-gpus": "0", "num-nodes": "0", "memory": "", "runtime": ""} {
		cmd.Flags().Lookup(name).DefValue = none // a flag that is not given changes nothing
	}
	cmd.MarkFlagsOneRequired("name", "num-cpus", "num-gpus", "num-nodes", "memory", "runtime")
	cmd.RunE = cli.Checked(flags.check, a.IDCommand("resource requirements record", func(ctx context.Context, c *cli.Connection, id int64) error {
		rr, err := c.ResourceRequirements.Get(ctx, id)
		if err != nil {
			return err
		}
		flags.apply(cmd, rr)
		if rr, err = c.ResourceRequirements.Update(ctx, id, rr); err != nil {
			return err
		}
		return a.ShowMessage(rr, "Updated resource requirements %d", id)
	}))
	return cmd
}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "delete RESOURCE_REQUIREMENTS",
		Short:       "Delete unused resource requirements",
		Example:     `  torc-slurm resource-requirements delete 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("resource requirements record", func(ctx context.Context, c *cli.Connection, id int64) error {
			r, err := c.ResourceRequirements.Delete(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(r, "Deleted resource requirements %d", id)
		}),
	}
}
