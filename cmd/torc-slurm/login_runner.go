package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// loginFlags are those of a runner on the daemon's host.
type loginFlags struct {
	endpoint  string
	workflow  int64
	outputDir string
}

// loginParallelJobs is how many jobs a runner on the daemon's host runs at a time:
// login nodes are everybody's.
const loginParallelJobs = 4

// newLoginRunnerCommand is what a daemon starts for jobs that run on its own host.
func newLoginRunnerCommand(a *app) *cobra.Command {
	var flags loginFlags
	c := &cobra.Command{
		Use:         "login-runner",
		Short:       "Run the jobs of a workflow that run on the daemon's host (the daemon starts this)",
		Hidden:      true,
		Args:        cobra.NoArgs,
		Annotations: exits("0 no work is left", "1 the runner failed; its log says why", "4 the daemon could not be reached"),
		RunE:        func(c *cobra.Command, _ []string) error { return a.runOnLogin(c.Context(), flags) },
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

// runOnLogin runs the jobs of a workflow that run on the daemon's host alone.
func (a *app) runOnLogin(ctx context.Context, flags loginFlags) error {
	c, err := a.dialEndpoint(ctx, flags.endpoint)
	if err != nil {
		return err
	}
	if c == nil {
		return workflow.Errorf(workflow.CodeUnavailable, "the daemon of %s does not answer", flags.endpoint)
	}
	defer c.closeIdle()
	if flags.endpoint == server.EndpointPath(a.home()) {
		c.keep = a.keepOwn
	}
	status, err := c.WorkflowStatus(ctx, flags.workflow)
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this host: %w", err)
	}
	options := runner.Options{
		Client: c.Client, WorkflowID: flags.workflow, OutputDir: a.path(flags.outputDir), WorkDir: a.Dir, Hostname: hostname,
		MaxParallelJobs: loginParallelJobs, OnlyLogin: true, APIURL: c.URL, Environ: a.jobEnvironment(c),
	}
	release, err := a.claimOutputDir(ctx, c, &options)
	if err != nil {
		return err
	}
	defer release()
	logFile, err := openOutputLog(&options, func() (*os.File, error) {
		return runnerLog(options.OutputDir, hostname, flags.workflow, status.RunID)
	})
	if err != nil {
		return err
	}
	defer logFile.close()
	options.Log = logTo(logFile, slog.LevelInfo)
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	_, _, err = a.runJobs(ctx, c, r, newProgress(flags.workflow, status.WorkflowName, a.Now()))
	return err
}

// startLogin returns what starts a runner on the daemon's host, in a session of its
// own: it goes on without the daemon and finds the next one.
func (a *app) startLogin(endpoint string) func(store.LoginWork) (server.LoginProcess, error) {
	return func(w store.LoginWork) (server.LoginProcess, error) {
		said, err := os.CreateTemp("", "torc-slurm-login")
		if err != nil {
			return nil, fmt.Errorf("start a runner on this host: %w", err)
		}
		if err := os.Remove(said.Name()); err != nil { // it is there as long as it is open
			return nil, errors.Join(err, said.Close())
		}
		cmd := exec.Command(a.Executable, "login-runner", "--endpoint", endpoint, "--workflow", strconv.FormatInt(w.WorkflowID, 10), "--output-dir", w.OutputDir)
		cmd.Args[0] = "torc-slurm"
		cmd.Dir, cmd.Env, cmd.Stderr = w.Dir, a.Environ, said
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(fmt.Errorf("start a runner on this host: %w", err), said.Close())
		}
		p := &loginProcess{pid: cmd.Process.Pid, said: said}
		return p, cmd.Process.Release()
	}
}

// loginProcess is a runner that this daemon has started.
type loginProcess struct {
	pid  int
	said *os.File // its standard error
}

// Ended implements server.LoginProcess.
func (p *loginProcess) Ended() (bool, error) {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil)
	switch {
	case errors.Is(err, syscall.EINTR), err == nil && pid == 0:
		return false, nil
	case err != nil:
		return true, errors.Join(fmt.Errorf("wait for process %d: %w", p.pid, err), p.said.Close())
	}
	defer p.said.Close()
	if status.Exited() && status.ExitStatus() == 0 {
		return true, nil
	}
	const most = 2 << 10
	text := make([]byte, most)
	end, err := p.said.Seek(0, io.SeekEnd)
	if err != nil {
		return true, fmt.Errorf("process %d: %w", p.pid, err)
	}
	n, err := p.said.ReadAt(text, max(0, end-most))
	if err != nil && !errors.Is(err, io.EOF) {
		return true, fmt.Errorf("process %d: %w", p.pid, err)
	}
	if status.Signaled() {
		return true, fmt.Errorf("signal %d ended it: %s", status.Signal(), strings.TrimSpace(string(text[:n])))
	}
	return true, fmt.Errorf("exit status %d: %s", status.ExitStatus(), strings.TrimSpace(string(text[:n])))
}
