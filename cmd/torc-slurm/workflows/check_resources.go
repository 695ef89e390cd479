package workflows

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// NewCheckResources returns the command check-resources, which older versions called a
// report.
func NewCheckResources(a *cli.Factory, use string) *cobra.Command {
	var (
		run                int64
		all, includeFailed bool
		least              float64
	)
	cmd := &cobra.Command{
		Use:   use,
		Short: "Compare what jobs used with what they asked for",
		Long: `Compare the peak memory, peak CPU and execution time of jobs with their resource
requirements, and list the jobs that used more. The requirements named default
are not compared: nothing is enforced for them.`,
		Example: `  torc-slurm workflows check-resources 12
  torc-slurm workflows check-resources 12 --all --include-failed
  torc-slurm workflows correct-resources 12 --dry-run     what to change`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.Int64VarP(&run, "run-id", "r", 0, "of this `RUN` (default: the latest result of each job)")
	f.BoolVarP(&all, "all", "a", false, "also what stayed within its limits")
	f.BoolVar(&includeFailed, "include-failed", false, "also attempts that did not succeed")
	f.Float64Var(&least, "min-over-utilization", 1, "leave out less than so many `PERCENT` too much")
	cmd.RunE = a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		report, err := c.ResourceRequirements.Check(ctx, id, api.ResourceFilter{RunID: cli.Given(cmd, "run-id", run), All: all, IncludeFailed: includeFailed, MinOverPercent: least})
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.WriteJSON(report)
		}
		return cli.ShowList(a, resourceUseColumns, append(report.Violations, report.WithinLimits...))
	})
	return cmd
}

var resourceUseColumns = cli.List[api.ResourceUse]{Things: "comparisons", Columns: []cli.Column[api.ResourceUse]{
	{Title: "Job ID", Cell: func(u api.ResourceUse) string { return fmt.Sprint(u.JobID) }},
	{Title: "Job Name", Cell: func(u api.ResourceUse) string { return u.JobName }},
	{Title: "Resource", Cell: func(u api.ResourceUse) string { return string(u.ResourceType) }},
	{Title: "Specified", Cell: func(u api.ResourceUse) string { return u.Specified }},
	{Title: "Peak Used", Cell: func(u api.ResourceUse) string { return u.PeakUsed }},
	{Title: "Utilization", Cell: func(u api.ResourceUse) string { return u.OverUtilization }},
}}
