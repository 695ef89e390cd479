package workflows

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newCorrectResources(a *cli.Factory) *cobra.Command {
	var (
		request              api.CorrectResourcesRequest
		memory, cpu, runtime float64
		jobs                 []string
	)
	cmd := &cobra.Command{
		Use:   "correct-resources [WORKFLOW]",
		Short: "Fit resource requirements to what jobs used",
		Long: `Raise resource requirements that jobs exceeded, or were killed for, and lower
those that were too large. New values are the largest use times a multiplier,
rounded up to whole megabytes or gigabytes, minutes and CPUs.

Requirements are shared: they are raised to what the most demanding job needs,
and lowered only if all their jobs have completed and were measured. The
requirements named default stay as they are.`,
		Example: `  torc-slurm workflows correct-resources 12 --dry-run
  torc-slurm workflows correct-resources 12 --memory-multiplier 1.5 --no-downsize
  torc-slurm workflows correct-resources 12 --job-ids 41,42`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.Float64Var(&memory, "memory-multiplier", 1.2, "new memory is the peak times this `FACTOR`")
	f.Float64Var(&cpu, "cpu-multiplier", 1.2, "new CPUs are the peak times this `FACTOR`")
	f.Float64Var(&runtime, "runtime-multiplier", 1.2, "the new runtime is the longest time times this `FACTOR`")
	f.StringSliceVar(&jobs, "job-ids", nil, "only what these `JOBS` used, separated by commas")
	f.BoolVar(&request.DryRun, "dry-run", false, "only say what would be changed")
	f.BoolVar(&request.NoDownsize, "no-downsize", false, "lower nothing")
	check := func() error {
		for _, m := range []float64{memory, cpu, runtime} {
			if m < 1 {
				return cli.UsageErrorf("a multiplier of %g leaves less than was used; it must be at least 1", m)
			}
		}
		return nil
	}
	cmd.RunE = cli.Checked(check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		var err error
		if request.JobIDs, err = cli.SplitIDs("job", jobs); err != nil {
			return err
		}
		request.MemoryMultiplier, request.CPUMultiplier, request.RuntimeMultiplier = &memory, &cpu, &runtime
		report, err := c.ResourceRequirements.Correct(ctx, id, &request)
		if err != nil {
			return err
		}
		return showCorrections(a, report)
	}))
	return cmd
}

func showCorrections(a *cli.Factory, r *api.CorrectionReport) error {
	if a.Format == cli.FormatJSON {
		return a.WriteJSON(r)
	}
	if err := cli.ShowList(a, cli.List[api.Adjustment]{Things: "corrections", Columns: []cli.Column[api.Adjustment]{
		{Title: "RR ID", Cell: func(x api.Adjustment) string { return fmt.Sprint(x.ResourceRequirementsID) }},
		{Title: "RR Name", Cell: func(x api.Adjustment) string { return x.ResourceRequirementsName }},
		{Title: "Resource", Cell: func(x api.Adjustment) string { return string(x.Resource) }},
		{Title: "Old", Cell: func(x api.Adjustment) string { return x.Old }},
		{Title: "New", Cell: func(x api.Adjustment) string { return x.New }},
		{Title: "Reason", Cell: func(x api.Adjustment) string { return x.Reason }},
	}}, r.Adjustments); err != nil {
		return err
	}
	if r.DryRun && len(r.Adjustments) > 0 {
		a.Note("Nothing was changed: this was a dry run.")
	}
	return nil
}
