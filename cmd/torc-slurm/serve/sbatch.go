package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// daemonScript is the batch script of a daemon in its own Slurm job. A minute before the time
// limit the daemon stops, and the job is requeued and starts again, perhaps on another node.
// The job ends when nobody needs the daemon any more.
const daemonScript = `#!/bin/bash
#SBATCH --job-name=torc-daemon
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@60
export TORC_HOME=%s
%s serve --on-demand --towards="$SLURM_SUBMIT_HOST" &
daemon=$!
leave() { kill "$daemon"; wait "$daemon"; }
trap 'leave; exec scontrol requeue "$SLURM_JOB_ID"' USR1
trap leave TERM
wait "$daemon"
`

// serveInAllocation submits a Slurm job that runs the user's daemon, with these options of
// sbatch, and waits until the daemon answers. It returns an error if Slurm rejects the job, or
// the user's daemon is already running.
func serveInAllocation(ctx context.Context, a *cli.Factory, options []string) error {
	if err := allocate.CheckSbatch(a); err != nil {
		return err
	}
	path := server.EndpointPath(a.Home())
	c, err := daemonlink.DialEndpoint(ctx, a, path)
	if err != nil {
		return err
	}
	if c != nil {
		c.CloseIdle()
		return alreadyServed(path)
	}
	job, err := sbatchDaemon(ctx, a, options)
	if err != nil {
		return err
	}
	a.Note("Slurm job %s will run your daemon. Waiting until the daemon answers; its log is %s", job, daemonlink.DaemonLog(a.Home()))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if c, err := daemonlink.DialEndpoint(ctx, a, path); c != nil || err != nil {
			if c != nil {
				c.CloseIdle()
				a.Note("Your daemon is running")
			}
			return err
		}
		select {
		case <-ctx.Done():
			a.Note("Slurm job %s stays in the queue; scancel %s cancels it", job, job)
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// alreadyServed returns the error that the daemon is already running, with its host and
// process id.
func alreadyServed(endpointPath string) error {
	e, err := server.ReadEndpoint(endpointPath)
	if err != nil {
		return err
	}
	return workflow.Errorf(workflow.CodeConflict, "your daemon is already running on %s (process %d)", e.Host, e.PID).
		WithHint("stop it there first (kill %d); jobs in allocations continue to run", e.PID)
}

// sbatchDaemon submits daemonScript and returns the id of the Slurm job.
func sbatchDaemon(ctx context.Context, a *cli.Factory, options []string) (slurm.JobID, error) {
	home := a.Home()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return slurm.JobID{}, workflow.Errorf(workflow.CodeForbidden, "create the folder of your daemon: %v", err)
	}
	words := make([]string, 0, 2)
	for _, path := range []string{home, a.Executable} {
		word, err := cli.QuoteWords([]string{path})
		if err != nil {
			return slurm.JobID{}, err
		}
		words = append(words, word)
	}
	job, err := a.SlurmClient().Submit(ctx, slurm.Submission{
		Script: fmt.Appendf(nil, daemonScript, words[0], words[1]), Dir: home,
		Args: append([]string{"--output=" + filepath.Join(strings.ReplaceAll(home, "%", "%%"), "daemon.log")}, options...),
	})
	return job.ID, err
}
