package hpc

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// needFlags are the flags that describe what a job needs.
type needFlags struct {
	cpus, gpus, nodes         int64
	memory, walltime, account string
}

// need returns what the flags require of a partition, or a usage error.
func (f *needFlags) need() (siteconfigs.Need, error) {
	n := siteconfigs.Need{CPUs: f.cpus, GPUs: f.gpus, Nodes: f.nodes, Account: f.account}
	if f.cpus < 0 || f.gpus < 0 || f.nodes < 0 {
		return n, cli.UsageErrorf("the numbers of CPUs, GPUs and nodes cannot be negative")
	}
	if f.memory != "" {
		bytes, err := workflow.ParseMemory(f.memory)
		if err != nil {
			return n, cli.UsageErrorf("%v", err)
		}
		n.MemoryMB = (bytes + 1<<20 - 1) >> 20
	}
	if f.walltime != "" {
		d, ok := parseWalltime(f.walltime)
		if !ok {
			return n, cli.UsageErrorf("--walltime %q is not a duration such as 4h, 04:00:00, 2-00:00:00 or PT4H", f.walltime)
		}
		n.Walltime = d
	}
	return n, nil
}

// parseWalltime parses a duration in the notation of Go, Slurm or ISO 8601; ok is false if
// it is none.
func parseWalltime(text string) (d time.Duration, ok bool) {
	if d, ok := siteconfigs.ParseDuration(text); ok {
		return d, true
	}
	seconds, err := workflow.ParseRuntime(text)
	return time.Duration(seconds) * time.Second, err == nil
}

// partitionMatch says whether a partition fits, and why.
type partitionMatch struct {
	Partition string `json:"partition"`
	Fits      bool   `json:"fits"`
	Best      bool   `json:"best"`
	Reason    string `json:"reason"`
}

func newMatch(a *cli.Factory) *cobra.Command {
	var flags needFlags
	cmd := &cobra.Command{
		Use:   "match [NAME]",
		Short: "Show which partition suits a job best, and why the others do not",
		Example: `  torc-slurm hpc match --cpus 4 --memory 16g --walltime 2h
  torc-slurm hpc match kestrel --gpus 2 --walltime 04:00:00`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.Exits("1 no partition fits", "3 there is no such cluster"),
		ValidArgsFunction: completeSites(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			need, err := flags.need()
			if err != nil {
				return err
			}
			s, err := sites.Find(cmd.Context(), a, cli.FirstArg(args))
			if err != nil {
				return err
			}
			return showMatch(a, s, need)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&flags.cpus, "cpus", 1, "CPUs per node")
	f.StringVar(&flags.memory, "memory", "", "`MEMORY` per node, for example 16g")
	f.StringVar(&flags.walltime, "walltime", "", "time limit: a `DURATION` such as 4h, 04:00:00, 2-00:00:00 or PT4H")
	f.Int64Var(&flags.gpus, "gpus", 0, "GPUs per node")
	f.Int64Var(&flags.nodes, "nodes", 1, "nodes")
	f.StringVarP(&flags.account, "account", "a", "", "`ACCOUNT` to charge")
	return cmd
}

func showMatch(a *cli.Factory, s *siteconfigs.Site, need siteconfigs.Need) error {
	choice, refusals := siteconfigs.Best(s, need)
	result := struct {
		Profile string           `json:"profile_name"`
		Best    string           `json:"best,omitempty"`
		Items   []partitionMatch `json:"items"`
	}{Profile: s.Name, Items: []partitionMatch{}}
	if choice.Partition != nil {
		result.Best = choice.Partition.Name
		result.Items = append(result.Items, partitionMatch{choice.Partition.Name, true, true, choice.Reason})
	}
	for _, r := range refusals {
		result.Items = append(result.Items, partitionMatch{r.Partition, r.Fits, false, r.Reason})
	}
	err := a.ShowRecord(result, func(w io.Writer) {
		l := cli.List[partitionMatch]{Columns: []cli.Column[partitionMatch]{
			{Title: "Partition", Cell: func(m partitionMatch) string { return m.Partition }},
			{Title: "Fits", Cell: func(m partitionMatch) string { return yes(m.Fits) }},
			{Title: "Why", Cell: func(m partitionMatch) string { return m.Reason }},
		}}
		header, rows := l.Cells(cli.FormatTable, result.Items)
		cli.WriteTable(w, header, rows, a.TableWidth())
		if result.Best != "" {
			fmt.Fprintf(w, "Best: %s, %s\n", result.Best, choice.Reason)
		} else {
			fmt.Fprintf(w, "No partition of %s fits.\n", s.Title())
		}
	})
	if err == nil && choice.Partition == nil {
		return cli.Silent(cli.ExitFailed)
	}
	return err
}
