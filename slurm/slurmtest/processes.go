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

// LifeVariable is the variable by which the processes of a life are found: what
// is a cgroup in Slurm. A job's processes cannot leave it by a session of their
// own.
const LifeVariable = "TORC_FAKE_LIFE"

// Processes launches lives as real processes of this machine, all on one host.
// The cluster must be Live. Close ends what is left.
type Processes struct {
	mu      sync.Mutex
	running sync.WaitGroup
	lives   map[*processLife]bool
	closed  bool
}

// NewProcesses makes a launcher; pass its Launch to Options.
func NewProcesses() *Processes {
	return &Processes{lives: map[*processLife]bool{}}
}

// processLife is the script of one life.
type processLife struct {
	key string // value of LifeVariable; others have job 1 as well
	pid int
}

// Launch starts a life's script. A script that cannot be started exits with 127.
func (p *Processes) Launch(_ *Cluster, l *Life) Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := &processLife{key: rand.Text()}
	cmd, err := run.start(l)
	if err != nil || p.closed {
		p.running.Go(func() { l.Exit(slurm.ExitCode{Code: 127}) })
		return run
	}
	p.lives[run] = true
	p.running.Go(func() {
		defer os.RemoveAll(filepath.Dir(cmd.Path))
		exit := exitOf(cmd.Wait())
		run.Signal("KILL", Everything) // what the script has left behind
		p.mu.Lock()
		delete(p.lives, run)
		p.mu.Unlock()
		l.Exit(exit)
	})
	return run
}

// Close kills all lives and waits for their ends.
func (p *Processes) Close() {
	p.mu.Lock()
	p.closed = true
	for run := range p.lives {
		run.Signal("KILL", Everything)
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (run *processLife) start(l *Life) (*exec.Cmd, error) {
	dir, err := os.MkdirTemp("", "slurm-script-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "slurm_script")
	if err := os.WriteFile(path, l.Script, 0o700); err != nil {
		return nil, err
	}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if l.Append {
		mode = mode&^os.O_TRUNC | os.O_APPEND
	}
	stdout, err := os.OpenFile(l.Output, mode, 0o600)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr := stdout
	if l.Error != "" && l.Error != l.Output {
		if stderr, err = os.OpenFile(l.Error, mode, 0o600); err != nil {
			return nil, err
		}
		defer stderr.Close()
	}
	cmd := exec.Command(path)
	cmd.Dir = l.Dir
	cmd.Env = append(append(os.Environ(), l.Env...), LifeVariable+"="+run.key)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	run.pid = cmd.Process.Pid
	return cmd, nil
}

// exitOf reads how a process has ended.
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

// Signal gives a signal to the script's shell, or to all processes of the life.
func (run *processLife) Signal(name string, to Target) {
	signal := syscall.Signal(signalNumber(name))
	for _, pid := range run.pids() {
		if to == Everything || to == BatchShell && pid == run.pid || to == Steps && pid != run.pid {
			_ = syscall.Kill(pid, signal) // it may have ended meanwhile
		}
	}
}

// pids finds the processes that have the variable.
func (run *processLife) pids() []int {
	if run.pid == 0 {
		return nil
	}
	var pids []int
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	want := []byte(LifeVariable + "=" + run.key)
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil {
			continue // not ours, or over
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
