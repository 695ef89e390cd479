// Package noderunner has the commands of runners in allocations and of the gateways
// of their jobs.
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

// allocationFlags are those of a runner in an allocation of Slurm.
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
	isolated    bool // there is a runner on each node
}

// The defaults of Slurm and of torc.
const (
	defaultKillWait = 30 * time.Second
	defaultPatience = 20 * time.Minute
)

// A runner waits for a daemon that is away, by default, a part of what its
// allocation lasts, and not longer than mostPatience: the nodes are idle meanwhile,
// but Slurm may have taken long to give them.
const (
	patiencePart = 10
	mostPatience = 15 * time.Minute
)

// patienceUntil is how long a runner waits at its start for a daemon that is away;
// end is the zero time if nobody knows when its allocation ends.
func patienceUntil(end, now time.Time) time.Duration {
	if end.IsZero() {
		return mostPatience
	}
	return min(max(0, end.Sub(now)/patiencePart), mostPatience)
}

// New makes the command of a runner in an allocation, which the daemon starts there.
func New(a *cli.Factory) *cobra.Command {
	var flags allocationFlags
	c := &cobra.Command{
		Use:    "runner",
		Short:  "Run the jobs of a workflow in an allocation (batch scripts start this)",
		Hidden: true,
		Args:   cobra.NoArgs,
		Annotations: cli.Exits("0 no work is left, or the allocation's time is up",
			"1 the runner failed; its log says why", "4 the daemon could not be reached", "5 the daemon does not want this runner"),
		RunE: func(c *cobra.Command, _ []string) error { return runInAllocation(c.Context(), a, flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.endpoint, "endpoint", "", "`FILE` that says where the daemon is")
	f.StringVar(&flags.secret, "secret", "", "`FILE` with the secret of the allocation")
	f.Int64Var(&flags.workflow, "workflow", 0, "`ID` of the workflow")
	f.StringVarP(&flags.outputDir, "output-dir", "o", "", "`DIR` for the output of jobs")
	f.DurationVar(&flags.idle, "idle-timeout", 0, "leave after so long without work (default: what the workflow says)")
	f.DurationVar(&flags.killWait, "kill-wait", defaultKillWait, "what Slurm leaves a process between SIGTERM and SIGKILL")
	f.DurationVar(&flags.walltime, "walltime", 0, "how long the allocation lasts, where Slurm cannot be asked (default: without end)")
	f.DurationVar(&flags.patience, "patience", 0, "wait so long at the start for a daemon that does not answer (default: a tenth of the allocation's time, 15m at most)")
	addRunnerFlags(f, &flags)
	for _, name := range []string{"endpoint", "secret", "workflow", "output-dir"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

// addRunnerFlags adds the flags of every runner in an allocation.
func addRunnerFlags(f *pflag.FlagSet, flags *allocationFlags) {
	f.Int64VarP(&flags.maxParallel, "max-parallel-jobs", "j", 0, "run `N` jobs at a time, whatever they need")
	f.StringSliceVar(&flags.labels, "label", nil, "take only jobs with labels, all of them among these")
}

// runInAllocation works in an allocation that the daemon asked for, until
// nothing is left to do here.
func runInAllocation(ctx context.Context, a *cli.Factory, flags allocationFlags) error {
	place, err := locateRunner(ctx, a, flags)
	if err != nil {
		return err
	}
	// What happens before there is a log is in the error file of the batch script.
	link := &nodeLink{endpoint: flags.endpoint, secret: flags.secret, log: cli.LogTo(a.Stderr, slog.LevelInfo)}
	defer link.close()
	if flags.patience <= 0 {
		flags.patience = patienceUntil(place.End, a.Now())
	}
	version, err := arrive(ctx, link, flags.patience, link.log)
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

// openOutput takes the output directory of a runner in an allocation and opens
// its log, until done is called.
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

// locateRunner finds out where in which allocation this process is.
func locateRunner(ctx context.Context, a *cli.Factory, flags allocationFlags) (runner.Place, error) {
	if a.Getenv("SLURM_JOB_ID") == "" { // before the node is searched for GPUs
		return runner.Place{}, cli.UsageErrorf("SLURM_JOB_ID is not set: this is not a Slurm allocation")
	}
	place, err := runner.Locate(a.Environ, runner.Probe(a.Environ), flags.isolated)
	if err == nil && place.End.IsZero() {
		place.End = endOf(ctx, a, place.JobID, flags.walltime)
	}
	return place, err
}

// endTime bounds the question for the end of the allocation.
const endTime = 20 * time.Second

// endOf asks Slurm once when an allocation ends; zero if it does not. Without an
// answer it is the time that was asked for, counted from now; the daemon says
// better, soon.
func endOf(ctx context.Context, a *cli.Factory, job int64, walltime time.Duration) time.Time {
	ctx, cancel := context.WithTimeout(ctx, endTime)
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

// allocationOptions are those of any runner in an allocation.
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

// allocationLog opens the log of a runner in an allocation and begins it with
// what the runner found.
func allocationLog(o *runner.Options, place *runner.Place) (*outputdir.Log, error) {
	name := fmt.Sprintf("job_runner_slurm_wf%d_sl%d_n%d_pid%d.log", o.WorkflowID, place.JobID, place.NodeID, os.Getpid())
	file, err := outputdir.OpenLog(o, func() (*os.File, error) { return trustedfile.Append(filepath.Join(o.OutputDir, name), 0o666) })
	if err != nil {
		return nil, outputdir.WriteError(o.OutputDir, err)
	}
	o.Log = cli.LogTo(file, slog.LevelInfo)
	o.Log.Info("in an allocation of Slurm", "slurm_job_id", place.JobID, "restart_count", place.RestartCount, "nodes", place.Nodes,
		"num_cpus", place.Resources.CPUs, "memory_bytes", place.Resources.MemoryBytes, "num_gpus", place.Resources.GPUs, "end_time", place.End)
	return file, nil
}

// serveAllocation runs a runner. A signal has it drain: Slurm is about to take
// the nodes away.
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
			options.Log.Info("got a signal", "signal", sig.String())
		case sig := <-warnings:
			options.Log.Info("got a signal", "signal", sig.String())
		}
		r.Stop(runner.StopSlurm)
	}
}
