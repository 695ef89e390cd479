// Package run has the commands that run workflows in this process, with progress and
// a report.
package run

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/amendment"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/dryrun"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// runFlags are the flags of commands that run jobs in this process.
type runFlags struct {
	maxParallel  int64
	cpus         int64
	memoryGB     float64
	gpus         int64
	outputDir    string
	pollInterval float64
	claimBackoff float64
	timeLimit    string
	endTime      string
	labels       []string
	persistent   bool
	exitZero     bool
	dryRun       bool
	sink         *sink // of exec; nil for run
}

// New returns the command that runs a workflow on this machine.
func New(a *cli.Factory) *cobra.Command {
	var flags runFlags
	var specs specfile.Flags
	var earlier amendment.Flags
	c := &cobra.Command{
		Use:   "run SPEC|ID",
		Short: "Run a workflow on this machine",
		Long: `Run a workflow on this machine to its end. The workflow is created from a specification
(- reads it from standard input), or exists already. An existing one continues where it
stopped, in the folder where it was submitted; completed jobs do not run again.

With --time-limit or --end-time, a job starts only if its runtime fits into the remaining
time; a job without requirements is assumed to take a minute. Jobs that could not start
before the time was up, and jobs with labels that this runner does not have, are left
for later; they do not change the exit status. Jobs that need more CPUs, memory, GPUs,
nodes or time than this run has are listed, with exit status 1, unless there are other
runners or allocations.

Runs on one machine with the same daemon share the machine: their jobs together never
need more CPUs, memory and GPUs than it has, and the runs take turns. A run with a fixed
size (-j, --num-cpus, --memory-gb or --num-gpus, also in the configuration) uses that
alone; other runs do not take it into account.

--dry-run creates nothing: it shows the jobs of a specification in the order in which they
become ready, with their commands and needs and how many run here at a time, and finds
missing input files, commands that bash cannot read, and jobs that do not fit here.

With --resume, the workflow that was last created from this specification continues, with
what has changed in it. Jobs are matched by name. A job runs again if its command,
environment or inputs have changed, if it did not succeed, or if a job before it runs
again; other settings, such as requirements, apply without running it again. New jobs are
added, and jobs that are gone are disabled. The plan is shown first; with --dry-run it is
only shown. --resume=ID names another workflow.

Ctrl-C ends the jobs: they get a termination signal, some time, then a kill. A second
Ctrl-C kills them at once. ` + "`torc-slurm run ID`" + ` continues the workflow later.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm run sweep.yaml
  torc-slurm -s run sweep.yaml         self-contained: database in ./torc_output/torc.db
  torc-slurm run 12                    continue workflow 12
  torc-slurm run --num-cpus 4 --time-limit PT2H sweep.yaml
  torc-slurm run --label gpu train.yaml
  torc-slurm run --dry-run sweep.yaml
  torc-slurm run --resume sweep.yaml   after a change: run only what it affects`,
		Args:              cobra.RangeArgs(1, 2), // --resume may have an argument
		ValidArgsFunction: a.CompleteSpecOrWorkflow,
		Annotations: cli.ServerExits(cli.ExitInvalidSpec, "1 jobs failed, were terminated, canceled or are held, need more than this run has, or claims are held (0 with --exit-zero); with --dry-run: jobs would fail",
			"130 interrupted; `torc-slurm run ID` continues the workflow"),
		RunE: func(c *cobra.Command, args []string) error {
			target, err := earlier.SplitArgs(a, args)
			if err != nil {
				return err
			}
			return runRun(c.Context(), a, target, specs, &earlier, flags)
		},
	}
	addRunFlags(c.Flags(), &flags)
	earlier.Add(c.Flags())
	c.Flags().Int64Var(&flags.cpus, "num-cpus", 0, "`CPUS` for jobs (default: all of the machine)")
	c.Flags().Float64Var(&flags.memoryGB, "memory-gb", 0, "memory for jobs in `GIB` (default: all of the machine)")
	c.Flags().Int64Var(&flags.gpus, "num-gpus", 0, "`GPUS` for jobs (default: all of the machine)")
	c.Flags().StringSliceVar(&flags.labels, "label", nil, "run only jobs that have labels, all of which are among these; may be repeated")
	c.Flags().StringVar(&flags.timeLimit, "time-limit", "", "stop after this `DURATION`, for example 2h, 01:30:00 or PT2H")
	c.Flags().StringVar(&flags.endTime, "end-time", "", "stop at this `TIME`, for example 2027-01-31T18:00:00Z; overrides --time-limit")
	c.Flags().BoolVar(&flags.persistent, "persistent", false, "keep running while jobs that fit here may still become ready")
	c.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show what the jobs of a specification would do, and run nothing; exit with 1 if some would fail")
	c.Flags().BoolVar(&specs.NoMonitoring, "no-resource-monitoring", false, "do not measure jobs if the specification says nothing about it")
	c.Flags().BoolVar(&specs.SkipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers")
	return c
}

// addRunFlags adds the flags that run and exec share.
func addRunFlags(f *pflag.FlagSet, flags *runFlags) {
	f.Int64VarP(&flags.maxParallel, "max-parallel-jobs", "j", 0, "run up to `N` jobs at a time, regardless of their requirements")
	f.StringVarP(&flags.outputDir, "output-dir", "o", "", "`DIR` for the output of jobs (default torc_output)")
	f.BoolVar(&flags.exitZero, "exit-zero", false, "exit with 0 even if jobs failed")
	f.Float64VarP(&flags.pollInterval, "poll-interval", "p", 0, "accepted for compatibility: jobs are handed out without polling")
	f.Float64Var(&flags.claimBackoff, "claim-backoff-max-secs", 0, "accepted for compatibility")
	_ = f.MarkHidden("poll-interval")
	_ = f.MarkHidden("claim-backoff-max-secs")
}

func runRun(ctx context.Context, a *cli.Factory, target string, specs specfile.Flags, earlier *amendment.Flags, flags runFlags) error {
	options, err := runnerOptions(a, flags)
	if err != nil {
		return err
	}
	if !specfile.IsSpec(a, target) {
		if flags.dryRun {
			return dryrun.OnlySpecs(target)
		}
		if err := earlier.Refuse(target); err != nil {
			return err
		}
		id, err := cli.ParseID("workflow", target)
		if err != nil {
			return workflow.Errorf(workflow.CodeNotFound, "%q is neither a file nor the id of a workflow", target)
		}
		conn, err := a.Connect(ctx)
		if err != nil {
			return err
		}
		if err := runWhereSubmitted(ctx, a, conn, id, &options, &flags); err != nil {
			return err
		}
		return continueWorkflow(ctx, a, conn, id, options, flags)
	}
	loaded, err := specfile.Load(a, target, specs)
	if err != nil {
		return err
	}
	if flags.dryRun {
		if previewed, err := earlier.Preview(ctx, a, loaded.Definition); previewed || err != nil {
			return err
		}
		offer := runner.OfferOf(&options)
		return dryrun.Run(ctx, a, loaded, &offer)
	}
	return runSpec(ctx, a, loaded, earlier, options, flags)
}

// runSpec continues the earlier workflow of a specification, or creates one and runs it.
func runSpec(ctx context.Context, a *cli.Factory, loaded *spec.Result, earlier *amendment.Flags, options runner.Options, flags runFlags) error {
	mayResume := earlier.MayResume(a)
	if !mayResume {
		if err := checkNew(a, loaded, options); err != nil {
			return err
		}
	}
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	choice, err := earlier.Choose(ctx, a, conn, loaded.Definition)
	if err != nil {
		return err
	}
	if choice.Workflow == nil {
		if mayResume {
			if err := checkNew(a, loaded, options); err != nil {
				return err
			}
		}
		return runNew(ctx, a, conn, loaded, options, flags)
	}
	id := *choice.Workflow.ID
	plan, done, err := choice.Apply(ctx, a, conn, loaded.Definition, false)
	if err != nil || !done {
		return err
	}
	if err := runWhereSubmitted(ctx, a, conn, id, &options, &flags); err != nil {
		return err
	}
	if plan.Runs == 0 {
		return reportAsIs(ctx, a, conn, id, flags)
	}
	return continueWorkflow(ctx, a, conn, id, options, flags)
}

// checkNew returns an error if input files are missing or the output directory cannot be
// written to, so that no workflow is created that cannot run here.
func checkNew(a *cli.Factory, loaded *spec.Result, options runner.Options) error {
	if err := runstart.CheckInputs(a, loaded.Definition); err != nil {
		return err
	}
	return outputdir.Make(options.OutputDir)
}

// runNew creates the workflow of a specification, which passed checkNew, and runs it.
func runNew(ctx context.Context, a *cli.Factory, conn *cli.Connection, loaded *spec.Result, options runner.Options, flags runFlags) error {
	id, err := specfile.Create(ctx, conn, loaded.Definition)
	if err != nil {
		return err
	}
	a.Note("Created workflow %d", id)
	if err := runstart.Ensure(ctx, a, conn, id, true); err != nil { // its files were checked
		return err
	}
	return work(ctx, a, conn, id, options, flags)
}

// runWhereSubmitted sets the working directory of a run to the folder where the workflow was
// submitted, and the output directory to one below it unless a flag names another. It returns
// a conflict if this host does not have the folder.
func runWhereSubmitted(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, o *runner.Options, flags *runFlags) error {
	dir, err := outputdir.SubmissionDir(ctx, a, c, id)
	if err != nil || dir == a.Dir {
		return err
	}
	a.Note("Jobs run in %s, where workflow %d was submitted", dir, id)
	o.WorkDir = dir
	if flags.outputDir == "" {
		o.OutputDir = cli.PathIn(dir, a.Config.Client.Run.OutputDir)
		flags.outputDir = o.OutputDir // for the commands that the report suggests
	}
	return nil
}

// runnerOptions returns the options of a runner from flags and configuration, or a usage error.
func runnerOptions(a *cli.Factory, flags runFlags) (runner.Options, error) {
	config := a.Config.Client.Run
	o := runner.Options{
		OutputDir:       a.Path(cli.FirstOf(flags.outputDir, config.OutputDir)),
		MaxParallelJobs: cli.OrDefault(flags.maxParallel, config.MaxParallelJobs),
		Labels:          flags.labels,
		Persistent:      flags.persistent,
		WorkDir:         a.Dir,
		Resources: runner.Resources{
			CPUs:        cli.OrDefault(flags.cpus, config.NumCPUs),
			MemoryBytes: int64(cli.OrDefault(flags.memoryGB, config.MemoryGB) * (1 << 30)),
			GPUs:        cli.OrDefault(flags.gpus, config.NumGPUs),
		},
	}
	if flags.maxParallel < 0 || flags.cpus < 0 || flags.memoryGB < 0 || flags.gpus < 0 {
		return o, cli.UsageErrorf("the numbers of jobs, CPUs and GPUs and the memory cannot be negative")
	}
	if _, err := workflow.NormalizeLabels(flags.labels); err != nil {
		return o, cli.UsageErrorf("--label: %v", err)
	}
	if flags.timeLimit != "" {
		d, err := workflow.ParseDuration(flags.timeLimit)
		if err != nil || d <= 0 {
			return o, cli.UsageErrorf("--time-limit %q is not a duration such as 30m, 2h, 01:30:00, 1d or PT30M", flags.timeLimit)
		}
		o.TimeLimit = d
	}
	if flags.endTime != "" {
		end, err := parseTime(flags.endTime)
		if err != nil {
			return o, err
		}
		if !end.After(a.Now()) {
			return o, cli.UsageErrorf("--end-time %s is in the past", flags.endTime)
		}
		o.EndTime = end
	}
	return o, nil
}

// parseTime parses an ISO 8601 time, which is local without a zone. It returns a usage error
// for anything else.
func parseTime(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.UsageErrorf("%q is not a time such as 2027-01-31T18:00:00Z", text)
}
