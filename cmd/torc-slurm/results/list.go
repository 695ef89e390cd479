package results

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// resultFlags are the flags of results list.
type resultFlags struct {
	listing                     cli.ListFlags
	job, run, code, computeNode int64
	failed, allRuns             bool
	status                      string
	withLogs                    bool
	outputDir                   string
}

func (o *resultFlags) add(cmd *cobra.Command) {
	o.listing.Add(cmd, cli.ListShorthands{}, resultSortable...)
	f := cmd.Flags()
	f.Int64VarP(&o.job, "job-id", "j", 0, "only those of this `JOB`")
	f.Int64VarP(&o.run, "run-id", "r", 0, "only those of this `RUN`; implies --all-runs")
	f.Int64Var(&o.code, "return-code", 0, "only those with this return `CODE`")
	f.BoolVar(&o.failed, "failed", false, "only those of attempts that did not succeed")
	f.StringVarP(&o.status, "status", "s", "", "only those with this `STATUS`")
	f.BoolVar(&o.allRuns, "all-runs", false, "those of all runs and attempts, not only the latest of each job")
	f.Int64Var(&o.computeNode, "compute-node", 0, "only those of this compute `NODE`")
	f.StringVarP(&o.outputDir, "output-dir", "o", "", "output `DIR` of the workflow (default torc_output)")
	cmd.MarkFlagsMutuallyExclusive("failed", "return-code")
	cmd.MarkFlagsMutuallyExclusive("failed", "status")
	cli.CompleteWords(cmd, "status", "completed", "failed", "canceled", "terminated", "pending_failed")
}

// filter returns the filter for the server; a usage error for invalid flags.
func (o *resultFlags) filter(cmd *cobra.Command) (client.ResultFilter, error) {
	filter := client.ResultFilter{
		Page: o.listing.Page, JobID: cli.Given(cmd, "job-id", o.job), RunID: cli.Given(cmd, "run-id", o.run),
		ReturnCode: cli.Given(cmd, "return-code", o.code), ComputeNodeID: cli.Given(cmd, "compute-node", o.computeNode), AllRuns: o.all(cmd), Attempts: true,
	}
	if o.status != "" {
		s, err := apidata.ParseStatus(o.status)
		if err != nil {
			return filter, err
		}
		filter.Status = s.String()
	}
	if o.failed { // the server cannot filter these, so the page is cut here
		filter.Limit, filter.Offset = 0, 0
	}
	return filter, o.listing.Check()
}

func (o *resultFlags) all(cmd *cobra.Command) bool { return o.allRuns || cmd.Flags().Changed("run-id") }

// collect returns the results that the filter selects.
func (o *resultFlags) collect(ctx context.Context, c *cli.Connection, filter client.ResultFilter) ([]api.Result, error) {
	if !o.failed {
		return client.Collect(c.Results.List(ctx, filter))
	}
	var failed []api.Result
	left, skip := o.listing.Page.Limit, o.listing.Page.Offset
	for r, err := range c.Results.List(ctx, filter) {
		switch {
		case err != nil:
			return nil, err
		case r.Status == workflow.Completed && r.ReturnCode == 0:
			continue
		case skip > 0:
			skip--
			continue
		}
		failed = append(failed, r)
		if left--; left == 0 {
			break
		}
	}
	return failed, nil
}

func newList(a *cli.Factory) *cobra.Command {
	var o resultFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List how the jobs of a workflow have ended",
		Long: `List the results of a workflow: the latest one of each job, or all of them with
--all-runs. An attempt that never had a process, or whose runner did not report its end,
has no id. --include-logs writes JSON in which each result has the paths of its log
files.`,
		Example: `  torc-slurm results list 12 --failed
  torc-slurm results list 12 --all-runs -j 42
  torc-slurm -f csv results list 12 > results.csv
  torc-slurm results list 12 --failed --include-logs | jq -r '.items[].job_stderr'`,
	})
	cli.FreeLetterS(a, cmd)
	o.add(cmd)
	cmd.Flags().BoolVar(&o.withLogs, "include-logs", false, "as JSON, with the paths of log files")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return runResults(a, cmd, args, &o) }
	return cmd
}

// NewReport is results list --include-logs under its old name.
func NewReport(a *cli.Factory) *cobra.Command {
	o := resultFlags{withLogs: true}
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "results [WORKFLOW]",
		Short:   "List results with the paths of log files, as JSON",
		Example: `  torc-slurm reports results 12`,
	})
	cli.FreeLetterS(a, cmd)
	o.add(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return runResults(a, cmd, args, &o) }
	return cmd
}

func runResults(a *cli.Factory, cmd *cobra.Command, args []string, o *resultFlags) error {
	filter, err := o.filter(cmd)
	if err != nil {
		return err
	}
	return a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		filter.WorkflowID = id
		results, err := o.collect(ctx, c, filter)
		if err != nil {
			return err
		}
		if o.withLogs {
			return showResultLogs(ctx, a, c, filter, results, o.outputDir)
		}
		return cli.ShowList(a, resultColumns(o.all(cmd)), results)
	})(cmd, args)
}
