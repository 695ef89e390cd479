package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/slurm"
)

var slurmSchedulerColumns = list[api.SlurmScheduler]{things: "Slurm schedulers", columns: []column[api.SlurmScheduler]{
	{title: "ID", cell: func(s api.SlurmScheduler) string { return orEmpty(s.ID) }},
	{title: "Name", cell: func(s api.SlurmScheduler) string { return orEmpty(s.Name) }},
	{title: "Account", cell: func(s api.SlurmScheduler) string { return s.Account }},
	{title: "Nodes", cell: func(s api.SlurmScheduler) string { return orEmpty(&s.Nodes) }},
	{title: "Walltime", cell: func(s api.SlurmScheduler) string { return s.Walltime }},
	{title: "Partition", cell: func(s api.SlurmScheduler) string { return orEmpty(s.Partition) }},
	{title: "QOS", cell: func(s api.SlurmScheduler) string { return orEmpty(s.QOS) }},
	{title: "Serialized", cell: func(s api.SlurmScheduler) string { return yesNo(s.SerializeAllocations) }},
}}

// schedulerFlags describe an allocation to ask for.
type schedulerFlags struct {
	name, account, partition, qos, walltime string
	gres, mem, tmp, extra                   string
	nodes                                   int64
	serialize                               bool
}

// add adds the flags; the letters of two of them differ between create and
// update in torc.
func (s *schedulerFlags) add(cmd *cobra.Command, nameLetter, nodesLetter, walltimeLetter string) {
	f := cmd.Flags()
	f.StringVarP(&s.name, "name", nameLetter, "", "`NAME` of the scheduler")
	f.StringVarP(&s.account, "account", "a", "", "`ACCOUNT` that is charged")
	f.StringVarP(&s.gres, "gres", "g", "", "generic resources, for example `gpu:2`")
	f.StringVarP(&s.mem, "mem", "m", "", "`MEMORY` per node, as sbatch takes it")
	f.Int64VarP(&s.nodes, "nodes", nodesLetter, 1, "nodes per allocation")
	f.StringVarP(&s.partition, "partition", "p", "", "`PARTITION` (default: the site's)")
	f.StringVarP(&s.qos, "qos", "q", "normal", "quality of service")
	f.StringVarP(&s.tmp, "tmp", "t", "", "`SIZE` of local disk per node, as sbatch takes it")
	f.StringVarP(&s.walltime, "walltime", walltimeLetter, "04:00:00", "`TIME` limit, as sbatch takes it")
	f.StringVarP(&s.extra, "extra", "e", "", "more `OPTIONS` of sbatch")
}

// check refuses what Slurm would refuse later.
func (s *schedulerFlags) check() error {
	if d, err := slurm.ParseDuration(s.walltime); err != nil || d <= 0 {
		return usageErrorf("--walltime %q is no time that sbatch takes, such as 04:00:00 or 2-12:00:00", s.walltime)
	}
	if s.nodes < 1 {
		return usageErrorf("--nodes %d: an allocation has one at least", s.nodes)
	}
	return nil
}

// apply lays over a scheduler what was given on the command line, or what has a
// default if it is new.
func (s *schedulerFlags) apply(cmd *cobra.Command, to *api.SlurmScheduler, isNew bool) {
	for flag, set := range map[string]func(){
		"name":                  func() { to.Name = &s.name },
		"account":               func() { to.Account = s.account },
		"gres":                  func() { to.Gres = &s.gres },
		"mem":                   func() { to.Mem = &s.mem },
		"nodes":                 func() { to.Nodes = s.nodes },
		"partition":             func() { to.Partition = &s.partition },
		"qos":                   func() { to.QOS = &s.qos },
		"tmp":                   func() { to.Tmp = &s.tmp },
		"walltime":              func() { to.Walltime = s.walltime },
		"extra":                 func() { to.Extra = &s.extra },
		"serialize-allocations": func() { to.SerializeAllocations = &s.serialize },
	} {
		if f := cmd.Flags().Lookup(flag); f.Changed || isNew && f.DefValue != "" && f.DefValue != "false" {
			set()
		}
	}
}

func newSlurmCreateCommand(a *app) *cobra.Command {
	var flags schedulerFlags
	cmd := &cobra.Command{
		Use:   "create [WORKFLOW] --account ACCOUNT",
		Short: "Add a Slurm scheduler to a workflow",
		Long: `Add a Slurm scheduler to a workflow: the shape of an allocation that can be asked
for, by an action or by ` + "`torc-slurm slurm schedule`" + `.`,
		Example: `  torc-slurm slurm create 12 -n short -a myproject -p debug -W 01:00:00
  torc-slurm slurm create 12 -n chain -a myproject --serialize-allocations    one after the other`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	flags.add(cmd, "n", "N", "W")
	cmd.Flags().BoolVar(&flags.serialize, "serialize-allocations", false, "each allocation starts when the one before has ended")
	_ = cmd.MarkFlagRequired("account")
	cmd.RunE = checked(flags.check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		s := api.SlurmScheduler{WorkflowID: id}
		flags.apply(cmd, &s, true)
		created, err := c.CreateSlurmScheduler(ctx, &s)
		if err != nil {
			return err
		}
		return a.showMessage(created, "Created Slurm scheduler %s", orEmpty(created.ID))
	}))
	return cmd
}

func newSlurmUpdateCommand(a *app) *cobra.Command {
	var flags schedulerFlags
	cmd := &cobra.Command{
		Use:   "update SCHEDULER",
		Short: "Change a Slurm scheduler",
		Long:  `Change a Slurm scheduler. Allocations that were asked for stay as they are.`,
		Example: `  torc-slurm slurm update 3 --walltime 08:00:00
  torc-slurm slurm update 3 -p debug -n 2`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
	}
	flags.add(cmd, "N", "n", "")
	yesOrNoVar(cmd.Flags(), &flags.serialize, "serialize-allocations", "each allocation starts when the one before has ended: true or false")
	cmd.RunE = checked(flags.check, a.idCommand("Slurm scheduler", func(ctx context.Context, c *connection, id int64) error {
		s, err := c.SlurmScheduler(ctx, id)
		if err != nil {
			return err
		}
		flags.apply(cmd, s, false)
		updated, err := c.UpdateSlurmScheduler(ctx, id, s)
		if err != nil {
			return err
		}
		return a.showMessage(updated, "Updated Slurm scheduler %d", id)
	}))
	return cmd
}

func newSlurmListCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:               "list [WORKFLOW]",
		Short:             "List the Slurm schedulers of a workflow",
		Example:           `  torc-slurm slurm list 12`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{})
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.SlurmSchedulers(ctx, client.SlurmSchedulerFilter{Page: listing.page, WorkflowID: id}))
		if err != nil {
			return err
		}
		return showList(a, slurmSchedulerColumns, all)
	}))
	return cmd
}

func newSlurmGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get SCHEDULER",
		Short:       "Show a Slurm scheduler",
		Example:     `  torc-slurm slurm get 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("Slurm scheduler", func(ctx context.Context, c *connection, id int64) error {
			s, err := c.SlurmScheduler(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(s, func(w io.Writer) {
				fields := []field{{"Workflow", orEmpty(&s.WorkflowID)}}
				for _, column := range slurmSchedulerColumns.columns {
					fields = append(fields, field{column.title, column.cell(*s)})
				}
				writeFields(w, append(fields, field{"Memory", orEmpty(s.Mem)}, field{"Gres", orEmpty(s.Gres)},
					field{"Tasks per node", orEmpty(s.NtasksPerNode)}, field{"Tmp", orEmpty(s.Tmp)}, field{"Extra", orEmpty(s.Extra)})...)
			})
		}),
	}
}

func newSlurmDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "delete SCHEDULER",
		Short:       "Remove a Slurm scheduler",
		Example:     `  torc-slurm slurm delete 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("Slurm scheduler", func(ctx context.Context, c *connection, id int64) error {
			deleted, err := c.DeleteSlurmScheduler(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(deleted, "Deleted Slurm scheduler %d", id)
		}),
	}
}
