// Package hpc has the commands about HPC sites: what they offer, and which site this
// machine belongs to.
package hpc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about HPC sites.
func New(a *cli.Factory) *cobra.Command {
	c := cli.NewGroup(a, cli.GroupCompute, "hpc", "Show the partitions and limits of clusters",
		newList(a), newDetect(a), newShow(a), newPartitions(a), newMatch(a), newGenerate(a))
	c.Long = `Show the partitions and limits of clusters. Some clusters are built in. For any other,
Slurm is asked, and its answer is cached for an hour. A file
~/.config/torc/sites/NAME.yaml overrides what is built in for the cluster NAME, or
describes a new cluster.`
	return c
}

func newList(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "list",
		Short:       "List the known clusters",
		Example:     `  torc-slurm hpc list`,
		Args:        cobra.NoArgs,
		Annotations: cli.WithCSV(cli.Exits()),
		RunE: func(*cobra.Command, []string) error {
			finder, err := sites.Finder(a)
			if err != nil {
				return err
			}
			type known struct {
				siteView
				Detected bool `json:"detected"`
			}
			here := siteconfigs.Recognize(finder.Known, finder.Host)
			var all []known
			for _, s := range finder.Known {
				all = append(all, known{viewSite(s), s == here})
			}
			return cli.ShowList(a, cli.List[known]{Things: "clusters", Columns: []cli.Column[known]{
				{Title: "Name", Cell: func(k known) string { return k.Name }},
				{Title: "Display Name", Cell: func(k known) string { return k.DisplayName }},
				{Title: "Partitions", Cell: func(k known) string { return strconv.Itoa(len(k.Partitions)) }},
				{Title: "Detected", Cell: func(k known) string { return yes(k.Detected) }},
			}}, all)
		},
	}
}

func newDetect(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "detect",
		Short: "Show which cluster this machine belongs to",
		Long: `Show which cluster this machine belongs to. A known cluster is recognized by
environment variables, by the host name or by Slurm's name of the cluster. For any
other cluster, the command shows what Slurm reports.`,
		Example:     `  torc-slurm hpc detect`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("3 it belongs to no known cluster, and Slurm does not answer"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := sites.Find(cmd.Context(), a, "")
			if err != nil {
				return err
			}
			v := viewSite(s)
			return a.ShowRecord(v, func(w io.Writer) { v.write(w, a.TableWidth()) })
		},
	}
}

func newShow(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show a cluster (default: the one of this machine)",
		Example: `  torc-slurm hpc show
  torc-slurm hpc show kestrel`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.Exits("3 there is no such cluster"),
		ValidArgsFunction: completeSites(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := sites.Find(cmd.Context(), a, cli.FirstArg(args))
			if err != nil {
				return err
			}
			v := viewSite(s)
			return a.ShowRecord(v, func(w io.Writer) { v.write(w, a.TableWidth()) })
		},
	}
}

func newPartitions(a *cli.Factory) *cobra.Command {
	var gpu, shared bool
	cmd := &cobra.Command{
		Use:   "partitions [NAME]",
		Short: "List the partitions of a cluster",
		Example: `  torc-slurm hpc partitions
  torc-slurm hpc partitions kestrel --gpu`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.WithCSV(cli.Exits("3 there is no such cluster")),
		ValidArgsFunction: completeSites(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := sites.Find(cmd.Context(), a, cli.FirstArg(args))
			if err != nil {
				return err
			}
			all := slices.DeleteFunc(viewSite(s).Partitions, func(p sitePartitionView) bool {
				return gpu && gpuText(p) == "-" || shared && !p.Shared
			})
			return cli.ShowList(a, partitionColumns(), all)
		},
	}
	cmd.Flags().BoolVar(&gpu, "gpu", false, "only those with GPUs")
	cmd.Flags().BoolVar(&shared, "shared", false, "only those where jobs share nodes")
	return cmd
}

func newGenerate(a *cli.Factory) *cobra.Command {
	var name, display, output string
	var skipStandby bool
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write a site file with what Slurm reports",
		Long: `Ask Slurm what this cluster offers and write the answer as a site file. A site file in
~/.config/torc/sites is used instead of asking Slurm, and can be edited.`,
		Example:     `  torc-slurm hpc generate -o ~/.config/torc/sites/mine.yaml -n mine`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("3 Slurm does not answer", "5 the file already exists, or cannot be written"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := siteconfigs.Detect(cmd.Context(), a.SlurmClient(), a.User())
			if err != nil {
				return &workflow.Error{Code: workflow.CodeNotFound, Message: err.Error(), Err: err}
			}
			s.Name, s.DisplayName = cli.FirstOf(name, s.Name), cli.FirstOf(display, name, s.DisplayName)
			if skipStandby {
				s.Partitions = slices.DeleteFunc(s.Partitions, standby)
			}
			return writeSite(a, s, output)
		},
	}
	cmd.Flags().StringVarP(&name, "name", "n", "", "`NAME` of the cluster (default: Slurm's)")
	cmd.Flags().StringVarP(&display, "display-name", "d", "", "`NAME` that is shown")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&skipStandby, "skip-stdby", false, "leave out standby partitions")
	return cmd
}

// standby reports whether a partition is for standby jobs, which other jobs preempt.
func standby(p siteconfigs.Partition) bool {
	return strings.Contains(p.Name, "stdby") || strings.Contains(p.Name, "standby")
}

func writeSite(a *cli.Factory, s *siteconfigs.Site, path string) error {
	text, err := siteconfigs.Format(s)
	if err != nil {
		return err
	}
	if path == "" {
		_, err := a.Stdout.Write(text)
		return err
	}
	f, err := os.OpenFile(a.Path(path), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return workflow.Errorf(workflow.CodeConflict, "%s already exists", path).WithHint("remove it first")
	}
	if err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "%v", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return a.ShowMessage(struct {
		Name string `json:"name"`
		File string `json:"file"`
	}{s.Name, path}, "Wrote %s", path)
}

// completeSites returns the completion of the names of known clusters.
func completeSites(a *cli.Factory) cli.Completer {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || a.Configure(c) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		sites, err := sites.Known(a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, s := range sites {
			names = append(names, s.Name+"\t"+s.Title())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
