package slurmcmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
)

var slurmSchedulerColumns = cli.List[api.SlurmScheduler]{Things: "Slurm schedulers", Columns: []cli.Column[api.SlurmScheduler]{
	{Title: "ID", Cell: func(s api.SlurmScheduler) string { return cli.OrEmpty(s.ID) }},
	{Title: "Name", Cell: func(s api.SlurmScheduler) string { return cli.OrEmpty(s.Name) }},
	{Title: "Account", Cell: func(s api.SlurmScheduler) string { return s.Account }},
	{Title: "Nodes", Cell: func(s api.SlurmScheduler) string { return cli.OrEmpty(&s.Nodes) }},
	{Title: "Walltime", Cell: func(s api.SlurmScheduler) string { return s.Walltime }},
	{Title: "Partition", Cell: func(s api.SlurmScheduler) string { return cli.OrEmpty(s.Partition) }},
	{Title: "QOS", Cell: func(s api.SlurmScheduler) string { return cli.OrEmpty(s.QOS) }},
	{Title: "Serialized", Cell: func(s api.SlurmScheduler) string { return cli.YesNo(s.SerializeAllocations) }},
}}

// schedulerFlags describe an allocation to request.
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
	f.StringVarP(&s.account, "account", "a", "", "`ACCOUNT` to charge")
	f.StringVarP(&s.gres, "gres", "g", "", "generic resources, for example `gpu:2`")
	f.StringVarP(&s.mem, "mem", "m", "", "`MEMORY` per node, as sbatch takes it")
	f.Int64VarP(&s.nodes, "nodes", nodesLetter, 1, "nodes per allocation")
	f.StringVarP(&s.partition, "partition", "p", "", "`PARTITION` (default: the site's)")
	f.StringVarP(&s.qos, "qos", "q", "normal", "quality of service")
	f.StringVarP(&s.tmp, "tmp", "t", "", "`SIZE` of local disk per node, as sbatch takes it")
	f.StringVarP(&s.walltime, "walltime", walltimeLetter, "04:00:00", "`TIME` limit, as sbatch takes it")
	f.StringVarP(&s.extra, "extra", "e", "", "more `OPTIONS` of sbatch")
}

// check returns a usage error for what Slurm would reject later.
func (s *schedulerFlags) check() error {
	if d, err := slurm.ParseDuration(s.walltime); err != nil || d <= 0 {
		return cli.UsageErrorf("--walltime %q is not a time limit for sbatch, such as 04:00:00 or 2-12:00:00", s.walltime)
	}
	if s.nodes < 1 {
		return cli.UsageErrorf("--nodes %d: the minimum is 1", s.nodes)
	}
	return nil
}

// apply sets the fields of a scheduler that were given on the command line; if it is new also
// those with a default.
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

func newCreate(a *cli.Factory) *cobra.Command {
	var flags schedulerFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "create [WORKFLOW] --account ACCOUNT",
		Short: "Add a Slurm scheduler to a workflow",
		Long: `Add a Slurm scheduler to a workflow: the shape of an allocation that an action can
request, or ` + "`torc-slurm slurm schedule`" + `.`,
		Example: `  torc-slurm slurm create 12 -n short -a myproject -p debug -W 01:00:00
  torc-slurm slurm create 12 -n chain -a myproject --serialize-allocations    one after the other`,
	})
	flags.add(cmd, "n", "N", "W")
	cmd.Flags().BoolVar(&flags.serialize, "serialize-allocations", false, "each allocation starts after the previous one has ended")
	_ = cmd.MarkFlagRequired("account")
	cmd.RunE = cli.Checked(flags.check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		s := api.SlurmScheduler{WorkflowID: id}
		flags.apply(cmd, &s, true)
		created, err := c.SlurmSchedulers.Create(ctx, &s)
		if err != nil {
			return err
		}
		return a.ShowMessage(created, "Created Slurm scheduler %s", cli.OrEmpty(created.ID))
	}))
	return cmd
}

func newUpdate(a *cli.Factory) *cobra.Command {
	var flags schedulerFlags
	cmd := &cobra.Command{
		Use:   "update SCHEDULER",
		Short: "Change a Slurm scheduler",
		Long:  `Change a Slurm scheduler. Allocations that were requested before are not changed.`,
		Example: `  torc-slurm slurm update 3 --walltime 08:00:00
  torc-slurm slurm update 3 -p debug -n 2`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
	}
	flags.add(cmd, "N", "n", "")
	cli.YesOrNoVar(cmd.Flags(), &flags.serialize, "serialize-allocations", "each allocation starts after the previous one has ended: true or false")
	cmd.RunE = cli.Checked(flags.check, a.IDCommand("Slurm scheduler", func(ctx context.Context, c *cli.Connection, id int64) error {
		s, err := c.SlurmSchedulers.Get(ctx, id)
		if err != nil {
			return err
		}
		flags.apply(cmd, s, false)
		updated, err := c.SlurmSchedulers.Update(ctx, id, s)
		if err != nil {
			return err
		}
		return a.ShowMessage(updated, "Updated Slurm scheduler %d", id)
	}))
	return cmd
}

func newList(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "list [WORKFLOW]",
		Short:   "List the Slurm schedulers of a workflow",
		Example: `  torc-slurm slurm list 12`,
	})
	listing.Add(cmd, cli.ListShorthands{})
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, slurmSchedulerColumns, c.SlurmSchedulers.List(ctx, client.SlurmSchedulerFilter{Page: listing.Page, WorkflowID: id}))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get SCHEDULER",
		Short:       "Show a Slurm scheduler",
		Example:     `  torc-slurm slurm get 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("Slurm scheduler", func(ctx context.Context, c *cli.Connection, id int64) error {
			s, err := c.SlurmSchedulers.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(s, func(w io.Writer) {
				fields := []cli.Field{{"Workflow", cli.OrEmpty(&s.WorkflowID)}}
				for _, column := range slurmSchedulerColumns.Columns {
					fields = append(fields, cli.Field{column.Title, column.Cell(*s)})
				}
				cli.WriteFields(w, append(fields, cli.Field{"Memory", cli.OrEmpty(s.Mem)}, cli.Field{"Gres", cli.OrEmpty(s.Gres)},
					cli.Field{"Tasks per node", cli.OrEmpty(s.NtasksPerNode)}, cli.Field{"Tmp", cli.OrEmpty(s.Tmp)}, cli.Field{"Extra", cli.OrEmpty(s.Extra)})...)
			})
		}),
	}
}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "delete SCHEDULER",
		Short:       "Remove a Slurm scheduler",
		Example:     `  torc-slurm slurm delete 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("Slurm scheduler", func(ctx context.Context, c *cli.Connection, id int64) error {
			deleted, err := c.SlurmSchedulers.Delete(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(deleted, "Deleted Slurm scheduler %d", id)
		}),
	}
}
