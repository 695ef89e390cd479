package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// allocationFlags are those of a runner in an allocation of ours.
type allocationFlags struct {
	endpoint    string
	secret      string
	workflow    int64
	outputDir   string
	maxParallel int64
	labels      []string
	idle        time.Duration
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
	f.Int64VarP(&flags.maxParallel, "max-parallel-jobs", "j", 0, "run `N` jobs at a time, whatever they need")
	f.StringSliceVar(&flags.labels, "label", nil, "take only jobs with labels, all of them among these")
	f.DurationVar(&flags.idle, "idle-timeout", 0, "leave after so long without work")
	for _, name := range []string{"endpoint", "secret", "workflow", "output-dir"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

// runInAllocation works until nothing is left to do here.
func (a *app) runInAllocation(ctx context.Context, flags allocationFlags) error {
	where, err := a.slurmPlace()
	if err != nil {
		return err
	}
	c, err := nodeConnection(flags)
	if err != nil {
		return err
	}
	defer c.closeIdle()
	options := runner.Options{
		OutputDir: a.path(flags.outputDir), WorkflowID: flags.workflow, MaxParallelJobs: flags.maxParallel, Labels: flags.labels,
		Client: c.Client, Actions: c.Client, APIURL: c.URL, NodeType: workflow.SchedulerSlurm, WorkDir: a.Dir,
		Resources: where.resources, EndTime: where.end, Allocation: &where.member,
		Scheduler: map[string]any{
			"scheduler_id": where.member.SlurmJobID, "type": workflow.SchedulerSlurm,
			"slurm_job_id": strconv.FormatInt(where.member.SlurmJobID, 10), "slurm_node_id": where.node, "slurm_task_pid": os.Getpid(),
		},
	}
	release, err := a.claimOutputDir(ctx, c, &options)
	if err != nil {
		return err
	}
	defer release()
	name := fmt.Sprintf("job_runner_slurm_wf%d_sl%d_n%d_pid%d.log", flags.workflow, where.member.SlurmJobID, where.node, os.Getpid())
	logFile, err := os.OpenFile(filepath.Join(options.OutputDir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return outputDirError(options.OutputDir, err)
	}
	defer logFile.Close()
	options.Environ, options.Log = a.jobEnvironment(c), logTo(logFile, slog.LevelInfo)
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	return a.serveAllocation(ctx, r)
}

// serveAllocation runs a runner, which a signal has drain: Slurm is about to
// take the nodes away.
func (a *app) serveAllocation(ctx context.Context, r *runner.Runner) error {
	signals := a.signals.take()
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			return err
		case <-signals:
			r.Stop(runner.StopCancel)
		}
	}
}

// slurmPlace is where a runner finds itself.
type slurmPlace struct {
	member    api.AllocationMember
	node      int64
	end       time.Time // zero if Slurm does not say
	resources runner.Resources
}

// slurmPlace reads Slurm's variables.
func (a *app) slurmPlace() (slurmPlace, error) {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(a.getenv(name), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	p := slurmPlace{
		member: api.AllocationMember{
			Cluster: a.getenv("SLURM_CLUSTER_NAME"), SlurmJobID: number("SLURM_JOB_ID"), RestartCount: number("SLURM_RESTART_COUNT"),
		},
		node: number("SLURM_NODEID"),
	}
	if p.member.SlurmJobID == 0 {
		return p, usageErrorf("SLURM_JOB_ID is not set: this is no allocation of Slurm")
	}
	if end := number("SLURM_JOB_END_TIME"); end > 0 {
		p.end = time.Unix(end, 0)
	}
	p.resources.CPUs = number("SLURM_CPUS_ON_NODE")
	if mb := number("SLURM_MEM_PER_NODE"); mb > 0 {
		p.resources.MemoryBytes = mb << 20
	} else if mb := number("SLURM_MEM_PER_CPU"); mb > 0 {
		p.resources.MemoryBytes = mb * p.resources.CPUs << 20
	}
	return p, nil
}

// nodeConnection connects to the daemon with the secret of an allocation.
func nodeConnection(flags allocationFlags) (*connection, error) {
	secret, err := os.ReadFile(flags.secret)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "the secret of this allocation: %v", err)
	}
	e, err := server.ReadEndpoint(flags.endpoint)
	if err != nil {
		return nil, err
	}
	if e.NodeURL == "" {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "the daemon does not listen for compute nodes")
	}
	c := &connection{URL: e.NodeURL, TokenFile: server.TokenPath(flags.endpoint), close: func() error { return nil }}
	return c, c.open(client.Options{URL: e.NodeURL, Token: strings.TrimSpace(string(secret)), CAFingerprint: e.Fingerprint})
}
