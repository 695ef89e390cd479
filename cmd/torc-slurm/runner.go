package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/gateway"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
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

// newRunnerCommand is what batch scripts start.
func newRunnerCommand(a *app) *cobra.Command {
	var flags allocationFlags
	c := &cobra.Command{
		Use:    "runner",
		Short:  "Run the jobs of a workflow in an allocation (batch scripts start this)",
		Hidden: true,
		Args:   cobra.NoArgs,
		Annotations: exits("0 no work is left, or the allocation's time is up",
			"1 the runner failed; its log says why", "4 the daemon could not be reached", "5 the daemon does not want this runner"),
		RunE: func(c *cobra.Command, _ []string) error { return a.runInAllocation(c.Context(), flags) },
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
func (a *app) runInAllocation(ctx context.Context, flags allocationFlags) error {
	place, err := a.locate(ctx, flags)
	if err != nil {
		return err
	}
	// What happens before there is a log is in the error file of the batch script.
	link := &nodeLink{endpoint: flags.endpoint, secret: flags.secret, log: logTo(a.Stderr, slog.LevelInfo)}
	defer link.close()
	if flags.patience <= 0 {
		flags.patience = patienceUntil(place.End, a.Now())
	}
	version, err := arrive(ctx, link, flags.patience, link.log)
	if err != nil {
		return fmt.Errorf("reach the daemon: %w", err)
	}
	options := a.allocationOptions(flags, &place)
	options.Client, options.Actions, options.Accounts = link, link, link
	options.Allocation = &api.AllocationMember{Cluster: place.Cluster, SlurmJobID: place.JobID, RestartCount: place.RestartCount, NodeList: place.NodeList}
	done, err := a.openOutput(version.Database, &options, &place)
	if err != nil {
		return err
	}
	defer done()
	link.log = options.Log
	jobs, err := a.openGateway(&options, link.Forward)
	if err != nil {
		return err
	}
	defer jobs.Close()
	others := a.openNodeGateways(&options, "--endpoint", flags.endpoint, "--secret", flags.secret)
	defer others.Close()
	return a.serveAllocation(ctx, options)
}

// openGateway lets the jobs of a runner call the server, without credentials of
// their own, until it is closed.
func (a *app) openGateway(o *runner.Options, forward func(*http.Request) (*http.Response, error)) (*gateway.Gateway, error) {
	jobs, err := gateway.Start(gateway.Options{WorkflowID: o.WorkflowID, Forward: forward, Log: o.Log})
	if err != nil {
		return nil, err
	}
	o.APIURL, o.Environ = jobs.URL(), nil
	for _, entry := range a.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(serverVariables, name) {
			o.Environ = append(o.Environ, entry)
		}
	}
	if file := jobs.TokenFile(); file != "" {
		o.Environ = append(o.Environ, "TORC_TOKEN_FILE="+file)
	}
	return jobs, nil
}

// serverVariables are how this program was told to reach a server. Jobs reach it
// by the gateway of their runner.
var serverVariables = []string{
	"TORC_TOKEN_FILE", "TORC_PASSWORD", "TORC_COOKIE_HEADER", "TORC_TLS_CA_CERT", "TORC_TLS_INSECURE",
}

// openOutput takes the output directory of a runner in an allocation and opens
// its log, until done is called.
func (a *app) openOutput(database string, options *runner.Options, place *runner.Place) (done func(), err error) {
	release, err := a.claimOutputDirFor(database, options)
	if err != nil {
		return nil, err
	}
	logFile, err := allocationLog(options, place)
	if err != nil {
		release()
		return nil, err
	}
	return func() {
		logFile.close()
		release()
	}, nil
}

// locate finds out where in which allocation this process is.
func (a *app) locate(ctx context.Context, flags allocationFlags) (runner.Place, error) {
	if a.getenv("SLURM_JOB_ID") == "" { // before the node is searched for GPUs
		return runner.Place{}, usageErrorf("SLURM_JOB_ID is not set: this is no allocation of Slurm")
	}
	place, err := runner.Locate(a.Environ, runner.Probe(a.Environ), flags.isolated)
	if err == nil && place.End.IsZero() {
		place.End = a.endOf(ctx, place.JobID, flags.walltime)
	}
	return place, err
}

// endTime bounds the question for the end of the allocation.
const endTime = 20 * time.Second

// endOf asks Slurm once when an allocation ends; zero if it does not. Without an
// answer it is the time that was asked for, counted from now; the daemon says
// better, soon.
func (a *app) endOf(ctx context.Context, job int64, walltime time.Duration) time.Time {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	queue, err := a.runnerSlurm().Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{{Number: job}}})
	if err == nil && len(queue.Jobs) > 0 {
		return queue.Jobs[0].End
	}
	if walltime > 0 {
		return a.Now().Add(walltime)
	}
	return time.Time{}
}

// allocationOptions are those of any runner in an allocation.
func (a *app) allocationOptions(flags allocationFlags, place *runner.Place) runner.Options {
	return runner.Options{
		OutputDir: a.path(flags.outputDir), WorkflowID: flags.workflow, MaxParallelJobs: flags.maxParallel, Labels: flags.labels,
		Persistent: flags.persistent, IdleTimeout: flags.idle, KillWait: flags.killWait, Patience: flags.patience,
		NodeType: workflow.SchedulerSlurm, WorkDir: a.Dir,
		Hostname: place.Nodes[0], Nodes: place.Nodes, Resources: place.Resources, EndTime: place.End,
		Steps: &runner.Steps{
			Slurm: a.runnerSlurm(), Job: slurm.JobID{Number: place.JobID},
			Srun: (&slurm.OS{Paths: slurm.FakePaths(a.getenv)}).Path(slurm.Srun),
		},
		Scheduler: map[string]any{
			"scheduler_id": place.JobID, "type": workflow.SchedulerSlurm,
			"slurm_job_id": strconv.FormatInt(place.JobID, 10), "slurm_node_id": place.NodeID, "slurm_task_pid": place.TaskPID,
		},
	}
}

// allocationLog opens the log of a runner in an allocation and begins it with
// what the runner found.
func allocationLog(o *runner.Options, place *runner.Place) (*outputLog, error) {
	name := fmt.Sprintf("job_runner_slurm_wf%d_sl%d_n%d_pid%d.log", o.WorkflowID, place.JobID, place.NodeID, os.Getpid())
	file, err := openOutputLog(o, func() (*os.File, error) { return trustedfile.Append(filepath.Join(o.OutputDir, name), 0o666) })
	if err != nil {
		return nil, outputDirError(o.OutputDir, err)
	}
	o.Log = logTo(file, slog.LevelInfo)
	o.Log.Info("in an allocation of Slurm", "slurm_job_id", place.JobID, "restart_count", place.RestartCount, "nodes", place.Nodes,
		"num_cpus", place.Resources.CPUs, "memory_bytes", place.Resources.MemoryBytes, "num_gpus", place.Resources.GPUs, "end_time", place.End)
	return file, nil
}

// serveAllocation runs a runner. A signal has it drain: Slurm is about to take
// the nodes away.
func (a *app) serveAllocation(ctx context.Context, options runner.Options) error {
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	signals := a.signals.take()
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
