package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// KeyVariable is in the environment of the processes of a run. Its value is the run's key.
const KeyVariable = "TORC_SLURM_AGENT_CALL"

// Task is what an agent is started for.
type Task struct {
	Agent   Agent
	Brief   string
	Server  Server
	Key     string   // found in the environment of its processes
	Environ []string // of the daemon
	Timeout time.Duration
	// MaxOutput is how many bytes it may write to standard output and standard error.
	MaxOutput int64
}

// Ended is how a run ended.
type Ended struct {
	Absent   error  // why it could not be started; nil if it was
	TimedOut bool   // it was ended after its time
	TooMuch  bool   // it was ended because of its output
	Stopped  bool   // it was ended because the context ended
	Status   string // how its process ended: exit status 1
}

// endTime is how long output is read after the end of an agent.
const endTime = 5 * time.Second

// Run starts an agent, waits for it, and ends all processes that it has left. It works in an
// empty folder of its own, which is removed afterwards. What it writes is counted and
// dropped. An error means that its processes may be left.
func Run(ctx context.Context, t *Task) (e Ended, err error) {
	dir, err := os.MkdirTemp("", "torc-slurm-agent")
	if err != nil {
		return Ended{Absent: err}, nil //nolint:nilerr // it is the outcome
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "settings.json")
	command, environ, content, err := t.Agent.fill(&t.Server, t.Brief, file)
	if err != nil {
		return Ended{Absent: err}, nil //nolint:nilerr // it is the outcome
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		return Ended{Absent: err}, nil //nolint:nilerr // it is the outcome
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return Ended{Absent: err}, nil //nolint:nilerr // it is the outcome
	}
	limited, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	out := &counter{most: t.MaxOutput, exceeded: cancel}
	cmd := exec.CommandContext(limited, command[0], command[1:]...)
	cmd.Dir = work
	cmd.Env = append(append(append([]string{}, t.Environ...), "TORC_MCP_CONFIG="+file, KeyVariable+"="+t.Key), environ...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(t.Brief), out, out
	// It stays in our session: a runner in this process considers dead children in other
	// sessions to be leftovers of a job.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endTree(cmd.Process.Pid) }
	cmd.WaitDelay = endTime
	if err := cmd.Start(); err != nil {
		return Ended{Absent: err}, nil //nolint:nilerr // it is the outcome
	}
	waited := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in its group; none is fine
	e.TooMuch = out.isExceeded()
	e.Stopped = !e.TooMuch && ctx.Err() != nil
	e.TimedOut = !e.TooMuch && !e.Stopped && errors.Is(limited.Err(), context.DeadlineExceeded)
	if e.Status = "exit status 0"; waited != nil {
		e.Status = waited.Error()
	}
	if err := EndLeft([]string{t.Key}); err != nil {
		return e, fmt.Errorf("end what the agent left running: %w", err)
	}
	return e, nil
}

// counter drops what is written to it, and reports when that is too much.
type counter struct {
	mu       sync.Mutex
	n, most  int64
	exceeded func()
}

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += int64(len(p))
	if c.n > c.most {
		c.exceeded()
	}
	return len(p), nil
}

func (c *counter) isExceeded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n > c.most
}
