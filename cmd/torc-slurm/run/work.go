package run

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/jobgateway"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/internal/failpoint"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/output"
)

// work runs a workflow in this process and shows the report. The error has the exit status of
// the command.
func work(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, options runner.Options, flags runFlags) error {
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("get the name of this host: %w", err)
	}
	release, err := outputdir.Claim(ctx, a, c, &options)
	if err != nil {
		return err
	}
	defer release()
	logFile, err := outputdir.OpenLog(&options, func() (*os.File, error) { return outputdir.RunnerLog(options.OutputDir, hostname, id, status.RunID) })
	if err != nil {
		return err
	}
	defer logFile.Close()

	p := newProgress(id, status.WorkflowName, a.Now())
	p.prefix = cli.Prefix(a)
	p.count(status, a.Now())
	options.Client, options.Actions = c.Runners, c.Runners
	options.WorkflowID, options.Hostname = id, hostname
	options.APIURL, options.Environ = c.URL, cli.JobEnvironment(a, c)
	options.Log = cli.LogTo(logFile, slog.LevelInfo)
	options.OnEvent = p.observe
	if s := flags.sink; s != nil {
		s.base = func(job, attempt int64) string {
			return output.LogPath(options.OutputDir, id, job, status.RunID, attempt, "")
		}
		options.OnEvent = func(e runner.Event) {
			p.observe(e)
			s.observe(e)
		}
	}
	if strings.HasPrefix(c.URL, "https:") { // jobs that call the server directly would need credentials
		jobs, err := jobgateway.Open(a, &options, c.Forward)
		if err != nil {
			return err
		}
		defer jobs.Close()
	}
	if points, err := failpoint.Parse(a.Getenv("TORC_SLURM_FAILPOINTS")); err == nil && points != nil { // the daemon reports invalid ones
		options.Failpoint = points.Hit
	}
	r, err := runner.New(options)
	if err != nil {
		return fmt.Errorf("set up the runner: %w", err)
	}
	summary, interrupted, err := runJobs(ctx, a, c, r, p, flags.sink)
	if err != nil {
		return fmt.Errorf("run workflow %d: %w; see %s", id, err, logFile.Name())
	}
	if err := reportEnd(ctx, a, c, id, p, summary, flags); err != nil && !interrupted {
		return err
	}
	if interrupted {
		return &cli.ExitError{Status: cli.ExitInterrupted}
	}
	if flags.sink != nil {
		return flags.sink.err()
	}
	return nil
}

// runJobs runs the runner to its end and shows the progress. On the first signal it ends the
// jobs, on the second it kills them. interrupted reports whether there was a signal.
func runJobs(ctx context.Context, a *cli.Factory, c *cli.Connection, r *runner.Runner, p *progress, s *sink) (summary runner.Summary, interrupted bool, err error) {
	signals := a.Interrupts.Take()
	if s != nil && s.halt != nil {
		s.halt.stop = func() {
			p.say("too many jobs have failed: ending the running jobs")
			r.Stop(runner.StopCancel)
		}
	}
	d := startDisplay(ctx, a, p, s, func(ctx context.Context) (*api.WorkflowStatus, error) {
		return c.Workflows.Status(ctx, p.id)
	})
	defer d.stop()
	kept, release := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	if c.Keep != nil {
		keeping.Go(func() { c.Keep(kept) })
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
				p.say(fmt.Sprintf("%s: ending the running jobs; repeat it to kill them at once", signalName(sig)))
				r.Stop(runner.StopCancel)
				continue
			}
			p.say("killing the running jobs")
			r.Stop(runner.StopKill)
		}
	}
}

// signalName returns the name of a signal that users know.
func signalName(sig os.Signal) string {
	if sig == os.Interrupt {
		return "Ctrl-C"
	}
	return sig.String()
}
