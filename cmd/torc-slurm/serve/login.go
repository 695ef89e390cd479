package serve

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/store"
)

// startLogin returns the function that starts a runner on the daemon's host. The runner has
// its own session, so it survives the daemon and connects to the next one.
func startLogin(a *cli.Factory, endpoint string) func(store.LoginWork) (server.LoginProcess, error) {
	return func(w store.LoginWork) (server.LoginProcess, error) {
		stderr, err := os.CreateTemp("", "torc-slurm-login")
		if err != nil {
			return nil, fmt.Errorf("start a runner on this host: %w", err)
		}
		if err := os.Remove(stderr.Name()); err != nil { // the file remains while it is open
			return nil, errors.Join(err, stderr.Close())
		}
		cmd := exec.Command(a.Executable, "login-runner", "--endpoint", endpoint, "--workflow", strconv.FormatInt(w.WorkflowID, 10), "--output-dir", w.OutputDir)
		cmd.Args[0] = "torc-slurm"
		cmd.Dir, cmd.Env, cmd.Stderr = w.Dir, a.Environ, stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(fmt.Errorf("start a runner on this host: %w", err), stderr.Close())
		}
		p := &loginProcess{pid: cmd.Process.Pid, stderr: stderr}
		return p, cmd.Process.Release()
	}
}

// loginProcess is a runner that this daemon has started.
type loginProcess struct {
	pid    int
	stderr *os.File // its standard error
}

// Ended implements server.LoginProcess.
func (p *loginProcess) Ended() (bool, error) {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil)
	switch {
	case errors.Is(err, syscall.EINTR), err == nil && pid == 0:
		return false, nil
	case err != nil:
		return true, errors.Join(fmt.Errorf("wait for process %d: %w", p.pid, err), p.stderr.Close())
	}
	defer p.stderr.Close()
	if status.Exited() && status.ExitStatus() == 0 {
		return true, nil
	}
	const most = 2 << 10
	text := make([]byte, most)
	end, err := p.stderr.Seek(0, io.SeekEnd)
	if err != nil {
		return true, fmt.Errorf("process %d: %w", p.pid, err)
	}
	n, err := p.stderr.ReadAt(text, max(0, end-most))
	if err != nil && !errors.Is(err, io.EOF) {
		return true, fmt.Errorf("process %d: %w", p.pid, err)
	}
	if status.Signaled() {
		return true, fmt.Errorf("signal %d ended it: %s", status.Signal(), strings.TrimSpace(string(text[:n])))
	}
	return true, fmt.Errorf("exit status %d: %s", status.ExitStatus(), strings.TrimSpace(string(text[:n])))
}
