package slurmtest

import (
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Pretend is a launcher that runs no process. It understands scripts of these
// lines, in the cluster's time; all other lines take no time and have no effect:
//
//	sleep SECONDS
//	exit CODE
//	kill -SIGNAL $$
//	trap '' SIGNAL    ignore it
//	out-of-memory     the kernel kills a child of the script
func Pretend(c *Cluster, r *Restart) Process {
	p := &pretended{cluster: c, restart: r, ignored: map[string]bool{}}
	for line := range strings.Lines(string(r.Script)) {
		for part := range strings.SplitSeq(line, ";") {
			p.lines = append(p.lines, strings.TrimSpace(part))
		}
	}
	c.After(0, p.next)
	return p
}

// pretended is a script that Pretend runs.
type pretended struct {
	cluster *Cluster
	restart *Restart

	mu      sync.Mutex
	lines   []string
	ignored map[string]bool
	stopped bool // by STOP
	waiting bool // a sleep has ended while it was stopped
	over    bool
}

// next runs the lines up to one that takes time or ends the script.
func (p *pretended) next() {
	p.mu.Lock()
	if p.stopped {
		p.waiting = true
		p.mu.Unlock()
		return
	}
	wait, exit, done := p.run()
	p.mu.Unlock()
	switch {
	case done:
		p.exit(exit)
	case wait > 0:
		p.cluster.After(wait, p.next)
	}
}

// run is next with the lock held; done reports whether the script has ended.
func (p *pretended) run() (wait time.Duration, exit slurm.ExitCode, done bool) {
	for len(p.lines) > 0 && !p.over {
		words := strings.Fields(p.lines[0])
		p.lines = p.lines[1:]
		if len(words) == 0 {
			continue
		}
		switch argument := words[len(words)-1]; words[0] {
		case "sleep":
			seconds, _ := strconv.ParseFloat(argument, 64)
			return time.Duration(seconds * float64(time.Second)), exit, false
		case "exit":
			exit.Code, _ = strconv.Atoi(argument)
			return 0, exit, true
		case "kill":
			exit.Signal = signalNumber(words[1])
			return 0, exit, true
		case "trap":
			p.ignored[argument] = true
		case "out-of-memory":
			p.mu.Unlock()
			p.restart.OutOfMemory()
			p.mu.Lock()
		}
	}
	return 0, exit, !p.over
}

func (p *pretended) exit(exit slurm.ExitCode) {
	p.mu.Lock()
	over := p.over
	p.over = true
	p.mu.Unlock()
	if !over {
		p.restart.Exit(exit)
	}
}

// Signal ends the script unless it ignores the signal.
func (p *pretended) Signal(name string, to Target) {
	if to == Steps {
		return
	}
	p.mu.Lock()
	ignored := p.ignored[name] && name != "KILL"
	switch name {
	case "STOP":
		p.stopped, ignored = true, true
	case "CONT":
		ignored = true
		p.stopped = false
		if p.waiting {
			p.waiting = false
			defer p.cluster.After(0, p.next)
		}
	}
	p.mu.Unlock()
	if !ignored {
		p.exit(slurm.ExitCode{Signal: signalNumber(name)})
	}
}

// signalNumber parses TERM, -TERM or -SIGTERM.
func signalNumber(name string) int {
	switch strings.TrimPrefix(strings.TrimPrefix(name, "-"), "SIG") {
	case "HUP":
		return int(syscall.SIGHUP)
	case "INT":
		return int(syscall.SIGINT)
	case "KILL":
		return int(syscall.SIGKILL)
	case "SEGV":
		return int(syscall.SIGSEGV)
	case "USR1":
		return int(syscall.SIGUSR1)
	case "USR2":
		return int(syscall.SIGUSR2)
	case "STOP":
		return int(syscall.SIGSTOP)
	case "CONT":
		return int(syscall.SIGCONT)
	}
	return int(syscall.SIGTERM)
}
