package daemonlink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const (
	// StartTime is how long a daemon may take until it listens. It may have to wait
	// for one that is stopping.
	StartTime = 30 * time.Second
	// maxDaemonLog is the size in bytes above which the log of a daemon that was
	// started on demand is renamed at the next start.
	maxDaemonLog = 10 << 20
)

// dialOwn connects to the user's own daemon. With start it starts the daemon if it does not
// run; else that is an error.
func dialOwn(ctx context.Context, a *cli.Factory, start bool) (*cli.Connection, error) {
	c, err := findOrStartOwn(ctx, a, start)
	if c != nil {
		c.Keep = func(ctx context.Context) { KeepOwn(ctx, a) }
	}
	return c, err
}

func findOrStartOwn(ctx context.Context, a *cli.Factory, start bool) (*cli.Connection, error) {
	if err := a.CheckHome(); err != nil {
		return nil, err
	}
	home := a.Home()
	path := server.EndpointPath(home)
	c, err := DialEndpoint(ctx, a, path)
	if c != nil || err != nil {
		return c, err
	}
	if !start {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "your daemon does not run")
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "create the folder of your daemon: %v", err).
			WithHint("set TORC_HOME to a writable folder, preferably on a local disk")
	}
	if err := trustedfile.CheckFolder(home); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, StartTime)
	defer cancel()
	unlock, err := lockStart(ctx, home)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c, err = DialEndpoint(ctx, a, path); c != nil || err != nil {
		return c, err // another program has started it
	}
	if err := startOwn(ctx, a, home); err != nil {
		return nil, elsewhere(path, err)
	}
	if c, err = DialEndpoint(ctx, a, path); c == nil && err == nil {
		err = workflow.Errorf(workflow.CodeUnavailable, "your daemon ended right after its start; see %s", DaemonLog(home))
	}
	return c, err
}

// reviveEvery is how often a program that runs jobs checks that the daemon runs.
const reviveEvery = 2 * time.Second

// KeepOwn restarts the user's daemon when it has died, until ctx ends.
func KeepOwn(ctx context.Context, a *cli.Factory) {
	tick := time.NewTicker(reviveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c, err := dialOwn(ctx, a, true)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("your daemon has died and cannot be restarted", "error", err)
		}
		if c != nil {
			c.CloseIdle()
		}
	}
}

// lockStart locks out other programs that start the daemon, until unlock is called.
func lockStart(ctx context.Context, home string) (unlock func(), err error) {
	f, err := trustedfile.OpenOwn(filepath.Join(home, "start.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "start your daemon: %v", err)
	}
	unlock = func() { _ = f.Close() } // so does the end of the program
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return unlock, nil // without locks on that file system, the database's lock has to suffice
		}
		if err := cli.Pause(ctx, 20*time.Millisecond); err != nil {
			unlock()
			return nil, workflow.Errorf(workflow.CodeUnavailable, "another program has held the start lock of your daemon for too long").
				WithHint("see %s", DaemonLog(home))
		}
	}
}

// DaemonLog returns the path of the log of the user's daemon.
func DaemonLog(home string) string { return filepath.Join(home, "daemon.log") }

// startOwn starts the daemon in its own session and returns when it listens.
func startOwn(ctx context.Context, a *cli.Factory, home string) error {
	log, err := OpenDaemonLog(home)
	if err != nil {
		return err
	}
	defer log.Close()
	began, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("start your daemon: %w", err)
	}
	cmd := exec.Command(a.Executable, "serve", "--on-demand")
	cmd.Args[0] = "torc-slurm"
	cmd.Dir = home
	cmd.Env = append(daemonEnvironment(a.Environ), "TORC_HOME="+home)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	a.Log.Debug("starting your daemon", "home", home)
	if _, err := StartServer(ctx, cmd); err != nil {
		return workflow.Errorf(workflow.CodeUnavailable, "your daemon could not be started: %v", err).
			WithHint("%s ends with:\n%s", log.Name(), LogTail(log.Name(), began))
	}
	return nil
}

// StartServer starts a server process, which outlives this one, and returns its port when
// it listens.
func StartServer(ctx context.Context, cmd *exec.Cmd) (port string, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	type answer struct {
		line string
		err  error
	}
	first := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadString('\n')
		first <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		_ = cmd.Process.Kill() // it may have ended already
		<-first
		_ = cmd.Wait() // killed
		return "", errors.New("it took too long")
	case got := <-first:
		port, ok := strings.CutPrefix(strings.TrimSpace(got.line), PortLine)
		if got.err != nil || !ok {
			_ = cmd.Process.Kill()
			return "", fmt.Errorf("it ended: %w", cmd.Wait())
		}
		return port, errors.Join(out.Close(), cmd.Process.Release())
	}
}

// OpenDaemonLog opens the log for appending; a large log is renamed first.
func OpenDaemonLog(home string) (*os.File, error) {
	path := DaemonLog(home)
	if info, err := os.Stat(path); err == nil && info.Size() > maxDaemonLog {
		_ = os.Rename(path, path+".1") // if it fails, the log grows
	}
	f, err := trustedfile.Append(path, 0o600)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeForbidden, "log of your daemon: %v", err).
			WithHint("set TORC_HOME to a writable folder, preferably on a local disk")
	}
	return f, nil
}

// LogTail returns the last lines of a log that were written after the offset from.
func LogTail(path string, from int64) string {
	const shown = 10
	f, err := os.Open(path)
	if err != nil {
		return "  " + err.Error()
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return "  " + err.Error()
	}
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "  " + err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-shown):], "\n  ")
}

// daemonEnvironment returns the environment of a daemon, without the variables of a job
// that happened to start it.
func daemonEnvironment(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case !strings.HasPrefix(name, "TORC_"), strings.Contains(name, "__"), name == "TORC_SLURM_FAILPOINTS", replacesProgram(name):
			kept = append(kept, entry)
		}
	}
	return kept
}

// replacesProgram reports whether a variable replaces one of Slurm's programs.
func replacesProgram(name string) bool {
	return len(slurm.FakePaths(func(asked string) string {
		if asked == name {
			return "yes"
		}
		return ""
	})) > 0
}

// PortLine is the prefix of the first line on a server's standard output.
const PortLine = "TORC_SERVER_PORT="
