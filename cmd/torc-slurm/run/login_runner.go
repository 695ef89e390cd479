package run

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// loginFlags are the flags of a runner on the daemon's host.
type loginFlags struct {
	endpoint  string
	workflow  int64
	outputDir string
}

// loginParallelJobs is how many jobs a runner on the daemon's host runs at a time. It is small,
// because login nodes are shared.
const loginParallelJobs = 4

// NewLoginRunner returns the command that a daemon starts for the jobs that run on its own
// host.
func NewLoginRunner(a *cli.Factory) *cobra.Command {
	var flags loginFlags
	c := &cobra.Command{
		Use:         "login-runner",
		Short:       "Run the jobs of a workflow that run on the daemon's host (the daemon starts this)",
		Hidden:      true,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("0 no work is left", "1 the runner failed; its log says why", "4 the daemon could not be reached"),
		RunE:        func(c *cobra.Command, _ []string) error { return runOnLogin(c.Context(), a, flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.endpoint, "endpoint", "", "`FILE` that says where the daemon is")
	f.Int64Var(&flags.workflow, "workflow", 0, "`ID` of the workflow")
	f.StringVarP(&flags.outputDir, "output-dir", "o", "", "`DIR` for the output of jobs")
	for _, name := range []string{"endpoint", "workflow", "output-dir"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

// runOnLogin runs those jobs of a workflow that may run on the daemon's host only.
func runOnLogin(ctx context.Context, a *cli.Factory, flags loginFlags) error {
	c, err := daemonlink.DialEndpoint(ctx, a, flags.endpoint)
	if err != nil {
		return err
	}
	if c == nil {
		return workflow.Errorf(workflow.CodeUnavailable, "the daemon of endpoint file %s does not answer", flags.endpoint)
	}
	defer c.CloseIdle()
	if flags.endpoint == server.EndpointPath(a.Home()) {
		c.Keep = func(ctx context.Context) { daemonlink.KeepOwn(ctx, a) }
	}
	status, err := c.Workflows.Status(ctx, flags.workflow)
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("get the name of this host: %w", err)
	}
	options := runner.Options{
		Client: c.Runners, WorkflowID: flags.workflow, OutputDir: a.Path(flags.outputDir), WorkDir: a.Dir, Hostname: hostname,
		MaxParallelJobs: loginParallelJobs, OnlyLogin: true, APIURL: c.URL, Environ: cli.JobEnvironment(a, c),
	}
	release, err := outputdir.Claim(ctx, a, c, &options)
	if err != nil {
		return err
	}
	defer release()
	logFile, err := outputdir.OpenLog(&options, func() (*os.File, error) {
		return outputdir.RunnerLog(options.OutputDir, hostname, flags.workflow, status.RunID)
	})
	if err != nil {
		return err
	}
	defer logFile.Close()
	options.Log = cli.LogTo(logFile, slog.LevelInfo)
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	_, _, err = runJobs(ctx, a, c, r, newProgress(flags.workflow, status.WorkflowName, a.Now()), nil)
	return err
}
