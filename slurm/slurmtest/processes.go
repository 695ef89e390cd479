package slurmtest

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// RestartVariable is the environment variable by which the processes of a restart are
// found, where Slurm uses a cgroup: a process in a session of its own has it, too.
const RestartVariable = "TORC_FAKE_RESTART"

// Processes launches restarts as real processes, all of them on this machine. The cluster
// must be Live. Close kills what is left.
type Processes struct {
	mu      sync.Mutex
	running sync.WaitGroup
	scripts map[*batchScript]bool
	closed  bool
}

// NewProcesses returns a launcher; pass its Launch to Options.
func NewProcesses() *Processes {
	return &Processes{scripts: map[*batchScript]bool{}}
}

// batchScript is the running script of one restart.
type batchScript struct {
	key string // value of RestartVariable; other clusters have a job 1 as well
	pid int
}

// Launch starts a restart's script. A script that cannot be started exits with 127.
func (p *Processes) Launch(_ *Cluster, r *Restart) Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := &batchScript{key: rand.Text()}
	cmd, err := run.start(r)
	if err != nil || p.closed {
		p.running.Go(func() { r.Exit(slurm.ExitCode{Code: 127}) })
		return run
	}
	p.scripts[run] = true
	p.running.Go(func() {
		defer os.RemoveAll(filepath.Dir(cmd.Path))
		exit := exitOf(cmd.Wait())
		run.Signal("KILL", Everything) // what the script has left behind
		p.mu.Lock()
		delete(p.scripts, run)
		p.mu.Unlock()
		r.Exit(exit)
	})
	return run
}

// Close kills all scripts and waits for their ends.
func (p *Processes) Close() {
	p.mu.Lock()
	p.closed = true
	for run := range p.scripts {
		run.Signal("KILL", Everything)
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (run *batchScript) start(r *Restart) (*exec.Cmd, error) {
	dir, err := os.MkdirTemp("", "slurm-script-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "slurm_script")
	if err := os.WriteFile(path, r.Script, 0o700); err != nil {
		return nil, err
	}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if r.Append {
		mode = mode&^os.O_TRUNC | os.O_APPEND
	}
	stdout, err := os.OpenFile(r.Output, mode, 0o600)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr := stdout
	if r.Error != "" && r.Error != r.Output {
		if stderr, err = os.OpenFile(r.Error, mode, 0o600); err != nil {
			return nil, err
		}
		defer stderr.Close()
	}
	cmd := exec.Command(path)
	cmd.Dir = r.Dir
	cmd.Env = append(append(os.Environ(), r.Env...), RestartVariable+"="+run.key)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	run.pid = cmd.Process.Pid
	return cmd, nil
}

// exitOf returns how a process ended, from the error of Wait.
func exitOf(err error) slurm.ExitCode {
	exit, ok := err.(*exec.ExitError)
	if !ok {
		if err != nil {
			return slurm.ExitCode{Code: 127}
		}
		return slurm.ExitCode{}
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return slurm.ExitCode{Signal: int(status.Signal())}
	}
	return slurm.ExitCode{Code: exit.ExitCode()}
}

// Signal sends a signal to the script's shell, to its steps, or to all processes of
// the restart.
func (run *batchScript) Signal(name string, to Target) {
	signal := syscall.Signal(signalNumber(name))
	for _, pid := range run.pids() {
		if to == Everything || to == BatchShell && pid == run.pid || to == Steps && pid != run.pid {
			_ = syscall.Kill(pid, signal) // it may have ended in the meantime
		}
	}
}

// pids returns the processes that have the variable.
func (run *batchScript) pids() []int {
	if run.pid == 0 {
		return nil
	}
	var pids []int
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	want := []byte(RestartVariable + "=" + run.key)
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil {
			continue // not ours, or ended
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(variable, want) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
