package daemoncmd

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/store/dbfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const (
	stopTime  = 30 * time.Second
	stopCheck = 50 * time.Millisecond
)

// stopped is the answer of stop and restart.
type stopped struct {
	Stopped int `json:"stopped_pid,omitempty"`
	Started int `json:"started_pid,omitempty"`
}

func newStop(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop your daemon",
		Long: `Stop your daemon, and wait until it has stored everything and ended. Jobs continue, and
their runners report when the daemon is back; meanwhile no allocation is requested and
no job is retried. The next command that needs the daemon starts it again, and so does
a runner on this machine.

A daemon on another host is not stopped.`,
		Example:     `  torc-slurm daemon stop`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("1 the daemon has not ended within 30 s", "4 the daemon does not answer", "5 the daemon runs on another host"),
		RunE: func(c *cobra.Command, _ []string) error {
			pid, err := stop(c.Context(), a)
			switch {
			case err != nil:
				return err
			case pid == 0:
				return a.ShowMessage(stopped{}, "Your daemon does not run")
			}
			return a.ShowMessage(stopped{Stopped: pid}, "Stopped your daemon (process %d)", pid)
		},
	}
}

func newRestart(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "restart",
		Short: "Stop your daemon and start it again",
		Long: `Stop your daemon, if it runs on this host, and start it, for example after an update of the
program or a change of the configuration. Jobs are not affected.`,
		Example:     `  torc-slurm daemon restart`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("1 the daemon has not ended within 30 s", "4 the daemon cannot be started", "5 the daemon runs on another host"),
		RunE: func(c *cobra.Command, _ []string) error {
			pid, err := stop(c.Context(), a)
			if err != nil {
				return err
			}
			conn, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			conn.CloseIdle()
			e, err := server.ReadEndpoint(server.EndpointPath(a.Home()))
			if err != nil {
				return err
			}
			return a.ShowMessage(stopped{pid, e.PID}, "Your daemon runs: process %d", e.PID)
		},
	}
}

// stop ends the user's daemon and returns its process; 0 if it does not run.
func stop(ctx context.Context, a *cli.Factory) (pid int, err error) {
	e, err := find(ctx, a)
	if e == nil || err != nil {
		return 0, err
	}
	if e.BootID != server.BootID() {
		return 0, workflow.Errorf(workflow.CodeConflict, "your daemon runs on %s (process %d)", e.Host, e.PID).WithHint("run this command there")
	}
	pid, life := e.PID, dbfile.Life(int64(e.PID))
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, workflow.Errorf(workflow.CodeForbidden, "stop process %d: %v", pid, err)
	}
	for end := a.Now().Add(stopTime); runs(pid, life); {
		if a.Now().After(end) {
			return 0, &cli.ExitError{Status: cli.ExitFailed, Err: workflow.Errorf(workflow.CodeUnavailable, "process %d has not ended within %s", pid, stopTime).
				WithHint("`torc-slurm daemon log` may say why")}
		}
		if err := cli.Pause(ctx, stopCheck); err != nil {
			return 0, err
		}
	}
	return pid, nil
}

// runs reports whether a process with this life, see dbfile.Life, has not ended.
func runs(pid int, life string) bool {
	lives, known := dbfile.IsAlive(int64(pid), life)
	return lives || !known && syscall.Kill(pid, 0) == nil
}
