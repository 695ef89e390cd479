// Package efficiency has the command that compares what jobs used with what they requested.
package efficiency

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// New returns the command eff.
func New(a *cli.Factory) *cobra.Command {
	var run int64
	var apply bool
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "eff [WORKFLOW]",
		Aliases: []string{"efficiency"},
		Short:   "Compare what jobs used with what they requested",
		Long: `Compare what the attempts of a workflow used with what their jobs requested: CPUs, memory and
runtime, as the median, the 95th percentile and the peak. Jobs whose names differ only in
numbers, such as the members of a sweep, are one family.

Core-hours are CPUs times hours, as they were requested. Those of attempts that did not
complete are wasted; their causes are named. Of allocations, the part is shown that no
job had requested. What runs now counts when it has ended.

Where requests were much too large, or too small, better ones are suggested in the form
of a specification. --apply changes the requirements of the workflow accordingly, like
` + "`torc-slurm workflows correct-resources`" + ` does.`,
		GroupID: cli.GroupAnalysis,
		Example: `  torc-slurm eff
  torc-slurm eff 12 --run-id 2
  torc-slurm -f csv eff 12 > eff.csv
  torc-slurm eff 12 --apply`,
		Annotations: cli.WithCSV(cli.ServerExits()),
	})
	cmd.Flags().Int64VarP(&run, "run-id", "r", 0, "only of this `RUN`")
	cmd.Flags().BoolVar(&apply, "apply", false, "change the requirements of the workflow as suggested")
	show := a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		e, err := c.Workflows.Efficiency(ctx, id, cli.Given(cmd, "run-id", run))
		if err != nil {
			return err
		}
		if a.Format == cli.FormatCSV {
			return cli.ShowList(a, columns, e.Families)
		}
		return a.ShowRecord(e, func(w io.Writer) { write(w, e) })
	})
	correct := a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		report, err := c.ResourceRequirements.Correct(ctx, id, &api.CorrectResourcesRequest{})
		if err != nil {
			return err
		}
		return a.ShowRecord(report, func(w io.Writer) { writeCorrections(w, report) })
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case apply && run != 0:
			return cli.UsageErrorf("--apply looks at all runs; leave out --run-id")
		case apply && a.Format == cli.FormatCSV:
			return cli.UsageErrorf("there is no CSV of changes; use -f json")
		case apply:
			return correct(cmd, args)
		}
		return show(cmd, args)
	}
	return cmd
}

// columns are plain numbers: CPUs, bytes, seconds.
var columns = cli.List[usage.FamilyUse]{Things: "families", Columns: append([]cli.Column[usage.FamilyUse]{
	{Title: "Family", Cell: func(f usage.FamilyUse) string { return f.Family }},
	{Title: "Jobs", Cell: func(f usage.FamilyUse) string { return fmt.Sprint(f.Jobs) }},
	{Title: "Attempts", Cell: func(f usage.FamilyUse) string { return fmt.Sprint(f.Attempts) }},
	{Title: "Core Seconds", Cell: func(f usage.FamilyUse) string { return number(f.CoreSeconds) }},
	{Title: "Wasted Core Seconds", Cell: func(f usage.FamilyUse) string { return number(wastedCoreSeconds(f.Wasted)) }},
	{Title: "Nodes", Cell: func(f usage.FamilyUse) string { return fmt.Sprint(f.Nodes) }},
	{Title: "GPUs Requested", Cell: func(f usage.FamilyUse) string { return fmt.Sprint(f.GPUs) }},
}, spreadColumns()...)}

func spreadColumns() (all []cli.Column[usage.FamilyUse]) {
	for _, r := range resources {
		for _, q := range [...]struct {
			title string
			of    func(usage.Spread) float64
		}{
			{"Requested", func(s usage.Spread) float64 { return s.Requested }},
			{"p50", func(s usage.Spread) float64 { return s.P50 }},
			{"p95", func(s usage.Spread) float64 { return s.P95 }},
			{"Peak", func(s usage.Spread) float64 { return s.Peak }},
		} {
			all = append(all, cli.Column[usage.FamilyUse]{Title: r.name + " " + q.title, Cell: func(f usage.FamilyUse) string {
				s := r.of(&f)
				if s.Measured == 0 && q.title != "Requested" {
					return ""
				}
				return number(q.of(s))
			}})
		}
	}
	return all
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func wastedCoreSeconds(all []usage.Waste) (sum float64) {
	for _, w := range all {
		sum += w.CoreSeconds
	}
	return sum
}
