package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/failpoint"
	"github.com/torc-slurm/torc-slurm/runner"
)

// work runs a workflow in this process and reports how it went.
func (a *app) work(ctx context.Context, c *connection, id int64, options runner.Options, flags runFlags) error {
	status, err := c.WorkflowStatus(ctx, id)
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this host: %w", err)
	}
	release, err := a.claimOutputDir(ctx, c, &options)
	if err != nil {
		return err
	}
	defer release()
	logFile, err := openOutputLog(&options, func() (*os.File, error) { return runnerLog(options.OutputDir, hostname, id, status.RunID) })
	if err != nil {
		return err
	}
	defer logFile.close()

	p := newProgress(id, status.WorkflowName, a.Now())
	p.prefix = a.prefix()
	p.count(status, a.Now())
	options.Client, options.Actions = c.Client, c.Client
	options.WorkflowID, options.Hostname = id, hostname
	options.APIURL, options.Environ = c.URL, a.jobEnvironment(c)
	options.Log = logTo(logFile, slog.LevelInfo)
	options.OnEvent = p.observe
	if strings.HasPrefix(c.URL, "https:") { // there jobs would need credentials
		jobs, err := a.openGateway(&options, c.Forward)
		if err != nil {
			return err
		}
		defer jobs.Close()
	}
	if points, err := failpoint.Parse(a.getenv("TORC_SLURM_FAILPOINTS")); err == nil && points != nil { // the daemon says what is wrong with them
		options.Failpoint = points.Hit
	}
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	summary, interrupted, err := a.runJobs(ctx, c, r, p)
	if err != nil {
		return fmt.Errorf("run workflow %d: %w; see %s", id, err, logFile.Name())
	}
	if err := a.reportEnd(ctx, c, id, p, summary, flags); err != nil && !interrupted {
		return err
	}
	if interrupted {
		return &exitError{status: exitInterrupted}
	}
	return nil
}

// runJobs runs the runner to its end, showing progress and obeying signals.
func (a *app) runJobs(ctx context.Context, c *connection, r *runner.Runner, p *progress) (summary runner.Summary, interrupted bool, err error) {
	signals := a.signals.take()
	d := startDisplay(ctx, a, p, func(ctx context.Context) (*api.WorkflowStatus, error) {
		return c.WorkflowStatus(ctx, p.id)
	})
	defer d.stop()
	kept, release := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	if c.keep != nil {
		keeping.Go(func() { c.keep(kept) })
	}
	defer keeping.Wait()
	defer release()
	done := make(chan struct{})
	go func() {
		defer close(done)
		summary, err = r.Run(ctx)
	}()
	for {
		select {
		case <-done:
			return summary, interrupted, err
		case sig := <-signals:
			if !interrupted {
				interrupted = true
				p.say(fmt.Sprintf("%s: ending the jobs that run; again to kill them at once", signalName(sig)))
				r.Stop(runner.StopCancel)
				continue
			}
			p.say("killing the jobs that run")
			r.Stop(runner.StopHurry)
		}
	}
}

// signalName writes a signal as a user knows it.
func signalName(sig os.Signal) string {
	if sig == os.Interrupt {
		return "Ctrl-C"
	}
	return sig.String()
}

// credentialVariables are what a command of the user may have in its environment,
// and jobs never get.
var credentialVariables = []string{"TORC_TOKEN_FILE", "TORC_PASSWORD", "TORC_COOKIE_HEADER"}

// jobEnvironment is what jobs inherit: the environment of this process without
// credentials, with what they need to reach the server. The kernel tells it that
// they are the user's.
func (a *app) jobEnvironment(c *connection) []string {
	var env []string
	for _, entry := range a.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(credentialVariables, name) {
			env = append(env, entry)
		}
	}
	if c.CACert != "" {
		env = append(env, "TORC_TLS_CA_CERT="+c.CACert)
	}
	return env
}
