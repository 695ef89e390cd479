// Package noderunner has the commands that run in allocations: the runners, and the gateways
// through which their jobs call the API.
package noderunner

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/jobgateway"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// allocationFlags are the flags of a runner in a Slurm allocation.
type allocationFlags struct {
	endpoint    string
	secret      string
	workflow    int64
	outputDir   string
	maxParallel int64
	labels      []string
	idle        time.Duration
	killWait    time.Duration
	walltime    time.Duration
	patience    time.Duration
	persistent  bool
	isolated    bool // each node of the allocation has a runner
}

// The defaults of Slurm and of torc.
const (
	defaultKillWait = 30 * time.Second
	defaultPatience = 20 * time.Minute
)

// By default a runner waits for a daemon that does not answer for a tenth of the time that its
// allocation has left, but not longer than maxPatience. Its nodes are idle meanwhile, but a
// new allocation might have to wait in the queue for long.
const (
	patiencePart = 10
	maxPatience  = 15 * time.Minute
)

// patienceUntil returns how long a runner waits at its start for a daemon that does not
// answer. end is when its allocation ends, the zero time if that is unknown.
func patienceUntil(end, now time.Time) time.Duration {
	if end.IsZero() {
		return maxPatience
	}
	return min(max(0, end.Sub(now)/patiencePart), maxPatience)
}

// New returns the command of a runner in an allocation. The batch scripts of the daemon start
// it.
func New(a *cli.Factory) *cobra.Command {
	var flags allocationFlags
	c := &cobra.Command{
		Use:    "runner",
		Short:  "Run the jobs of a workflow in an allocation (batch scripts start this)",
		Hidden: true,
		Args:   cobra.NoArgs,
		Annotations: cli.Exits("0 no work is left, or the allocation's time is up",
			"1 the runner failed; its log says why", "4 the daemon could not be reached", "5 the daemon rejects this runner"),
		RunE: func(c *cobra.Command, _ []string) error { return runInAllocation(c.Context(), a, flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.endpoint, "endpoint", "", "`FILE` that says where the daemon is")
	f.StringVar(&flags.secret, "secret", "", "`FILE` with the secret of the allocation")
	f.Int64Var(&flags.workflow, "workflow", 0, "`ID` of the workflow")
	f.StringVarP(&flags.outputDir, "output-dir", "o", "", "`DIR` for the output of jobs")
	f.DurationVar(&flags.idle, "idle-timeout", 0, "exit after this time without jobs (default: as the workflow says)")
	f.DurationVar(&flags.killWait, "kill-wait", defaultKillWait, "the time that Slurm gives a process between SIGTERM and SIGKILL")
	f.DurationVar(&flags.walltime, "walltime", 0, "time limit of the allocation if Slurm does not answer (default: none)")
	f.DurationVar(&flags.patience, "patience", 0, "how long to wait at the start for a daemon that does not answer (default: a tenth of the allocation's time, at most 15m)")
	addRunnerFlags(f, &flags)
	for _, name := range []string{"endpoint", "secret", "workflow", "output-dir"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

// addRunnerFlags adds the flags of every runner in an allocation.
func addRunnerFlags(f *pflag.FlagSet, flags *allocationFlags) {
	f.Int64VarP(&flags.maxParallel, "max-parallel-jobs", "j", 0, "run up to `N` jobs at a time, regardless of their requirements")
	f.StringSliceVar(&flags.labels, "label", nil, "run only jobs that have labels, all of which are among these")
}

// runInAllocation runs jobs in an allocation that the daemon requested, until no work is left
// for it.
func runInAllocation(ctx context.Context, a *cli.Factory, flags allocationFlags) error {
	place, err := locateRunner(ctx, a, flags)
	if err != nil {
		return err
	}
	// Until the log is open, messages go to the error file of the batch script.
	link := &nodeLink{endpoint: flags.endpoint, secret: flags.secret, log: cli.LogTo(a.Stderr, slog.LevelInfo)}
	defer link.close()
	if flags.patience <= 0 {
		flags.patience = patienceUntil(place.End, a.Now())
	}
	version, err := awaitServer(ctx, link, flags.patience, link.log)
	if err != nil {
		return fmt.Errorf("reach the daemon: %w", err)
	}
	options := allocationOptions(a, flags, &place)
	options.Client, options.Actions, options.Accounts = link, link, link
	options.Allocation = &lease.AllocationMember{Cluster: place.Cluster, SlurmJobID: place.JobID, RestartCount: place.RestartCount, NodeList: place.NodeList}
	done, err := openOutput(a, version.Database, &options, &place)
	if err != nil {
		return err
	}
	defer done()
	link.log = options.Log
	jobs, err := jobgateway.Open(a, &options, link.Forward)
	if err != nil {
		return err
	}
	defer jobs.Close()
	others := openNodeGateways(a, &options, "--endpoint", flags.endpoint, "--secret", flags.secret)
	defer others.Close()
	return serveAllocation(ctx, a, options)
}

// openOutput claims the output directory of a runner and opens its log. done closes the log
// and releases the directory.
func openOutput(a *cli.Factory, database string, options *runner.Options, place *runner.Place) (done func(), err error) {
	release, err := outputdir.ClaimFor(a, database, options)
	if err != nil {
		return nil, err
	}
	logFile, err := allocationLog(options, place)
	if err != nil {
		release()
		return nil, err
	}
	return func() {
		logFile.Close()
		release()
	}, nil
}

// locateRunner returns the allocation and the node of this process. It returns a usage error
// outside of an allocation.
func locateRunner(ctx context.Context, a *cli.Factory, flags allocationFlags) (runner.Place, error) {
	if a.Getenv("SLURM_JOB_ID") == "" { // checked first, because it takes time to find the GPUs of the node
		return runner.Place{}, cli.UsageErrorf("SLURM_JOB_ID is not set: this is not a Slurm allocation")
	}
	place, err := runner.Locate(a.Environ, runner.Probe(a.Environ), flags.isolated)
	if err == nil && place.End.IsZero() {
		place.End = endOf(ctx, a, place.JobID, flags.walltime)
	}
	return place, err
}

// endQueryTimeout limits the call of squeue for the end of the allocation.
const endQueryTimeout = 20 * time.Second

// endOf asks Slurm once when an allocation ends, and returns that time, or zero if it has no
// limit. If Slurm does not answer, it assumes that the whole time limit is left. The daemon
// soon sends the exact time.
func endOf(ctx context.Context, a *cli.Factory, job int64, walltime time.Duration) time.Time {
	ctx, cancel := context.WithTimeout(ctx, endQueryTimeout)
	defer cancel()
	queue, err := a.RunnerSlurm().Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{{Number: job}}})
	if err == nil && len(queue.Jobs) > 0 {
		return queue.Jobs[0].End
	}
	if walltime > 0 {
		return a.Now().Add(walltime)
	}
	return time.Time{}
}

// allocationOptions returns the options of a runner in an allocation, of the daemon's as of
// torc's.
func allocationOptions(a *cli.Factory, flags allocationFlags, place *runner.Place) runner.Options {
	return runner.Options{
		OutputDir: a.Path(flags.outputDir), WorkflowID: flags.workflow, MaxParallelJobs: flags.maxParallel, Labels: flags.labels,
		Persistent: flags.persistent, IdleTimeout: flags.idle, KillWait: flags.killWait, Patience: flags.patience,
		NodeType: compute.SchedulerSlurm, WorkDir: a.Dir,
		Hostname: place.Nodes[0], Nodes: place.Nodes, Resources: place.Resources, EndTime: place.End,
		Steps: &steps.Starter{
			Slurm: a.RunnerSlurm(), Job: slurm.JobID{Number: place.JobID},
			Srun: (&slurm.OS{Paths: slurm.FakePaths(a.Getenv)}).Path(slurm.Srun),
		},
		Scheduler: map[string]any{
			"scheduler_id": place.JobID, "type": compute.SchedulerSlurm,
			"slurm_job_id": strconv.FormatInt(place.JobID, 10), "slurm_node_id": place.NodeID, "slurm_task_pid": place.TaskPID,
		},
	}
}

// allocationLog opens the log of a runner in an allocation, and logs the allocation's nodes
// and resources first. It returns an error if the log cannot be written.
func allocationLog(o *runner.Options, place *runner.Place) (*outputdir.Log, error) {
	name := fmt.Sprintf("job_runner_slurm_wf%d_sl%d_n%d_pid%d.log", o.WorkflowID, place.JobID, place.NodeID, os.Getpid())
	file, err := outputdir.OpenLog(o, func() (*os.File, error) { return trustedfile.Append(filepath.Join(o.OutputDir, name), 0o666) })
	if err != nil {
		return nil, outputdir.WriteError(o.OutputDir, err)
	}
	o.Log = cli.LogTo(file, slog.LevelInfo)
	o.Log.Info("running in a Slurm allocation", "slurm_job_id", place.JobID, "restart_count", place.RestartCount, "nodes", place.Nodes,
		"num_cpus", place.Resources.CPUs, "memory_bytes", place.Resources.MemoryBytes, "num_gpus", place.Resources.GPUs, "end_time", place.End)
	return file, nil
}

// serveAllocation runs a runner to its end and returns its error. On a signal the runner
// drains, because Slurm is about to end the allocation.
func serveAllocation(ctx context.Context, a *cli.Factory, options runner.Options) error {
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	signals := a.Interrupts.Take()
	warnings, stop := a.SnapshotSignals() // a user's own --signal may be SIGUSR1
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				options.Log.Error("the runner ends with an error", "error", err)
			}
			return err
		case sig := <-signals:
			options.Log.Info("received a signal", "signal", sig.String())
		case sig := <-warnings:
			options.Log.Info("received a signal", "signal", sig.String())
		}
		r.Stop(runner.StopSlurm)
	}
}
