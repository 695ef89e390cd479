package simulation

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// execution is a simulated process of a job's command or recovery script.
type execution struct {
	job, run, attempt, fence int64

	key, node  string
	command    string
	repair     bool
	fate       fate
	machine    *machine
	begin, end time.Time // end is zero while it lives
	exit       process.Exit
	reported   bool // its runner knows of its end
	ok         bool // it ended by itself, with exit code 0
	signaled   bool // its runner wanted it to end
	exited     func(process.Exit)
	excused    bool // nobody can reach its node, or a person took its job away
	strays     int  // see audit
}

// processes are all processes that there ever were.
type processes struct {
	*world
	mu   sync.Mutex
	live map[string]*execution // by key
	of   map[int64][]*execution

	order order
}

// machine starts the processes of one runner process.
type machine struct {
	*processes
	name       string
	allocation *slurmtest.Restart // nil: outside of Slurm

	mu   sync.Mutex
	dead bool // the runner is; nobody learns of exits any more
	died time.Time
}

// Start simulates the start of a command. It is part of runner.Executor.
func (m *machine) Start(c *process.Command, exited func(process.Exit)) (int, error) {
	p := &execution{machine: m, node: m.name, begin: time.Now(), exited: exited, command: c.Argv[2]}
	for _, v := range c.Env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "TORC_JOB_ID":
			p.job, _ = strconv.ParseInt(value, 10, 64)
		case "TORC_RUN_ID":
			p.run, _ = strconv.ParseInt(value, 10, 64)
		case "TORC_ATTEMPT_ID":
			p.attempt, _ = strconv.ParseInt(value, 10, 64)
		case "TORC_ATTEMPT_KEY":
			p.key = value
		case "TORC_RETURN_CODE":
			p.repair = true
		}
	}
	p.fence = fenceOf(p.key)
	p.fate = fateOf(m.seed, p.command, p.job, p.attempt)
	if p.fate.spawnError || m.isBad(m.name) {
		m.note("%s: job %d attempt %d cannot be started", m.name, p.job, p.attempt)
		return 0, &process.SpawnError{Err: unix.EAGAIN, Errno: int(unix.EAGAIN)}
	}
	m.begin(m, p)
	return 0, nil
}

// fenceOf returns the fence in the key of an attempt, which is its last number.
func fenceOf(key string) int64 {
	words := strings.Split(strings.TrimSuffix(key, ".recovery"), ".")
	fence, _ := strconv.ParseInt(words[len(words)-1], 10, 64)
	return fence
}

// begin records the start of a process.
func (ps *processes) begin(m *machine, p *execution) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if m.isDead() {
		return
	}
	ps.note("%s: job %d attempt %d starts: %s", p.node, p.job, p.attempt, p.command)
	for _, other := range ps.of[p.job] {
		if other.end.IsZero() && !other.excused {
			ps.violated("job %d runs twice: attempt %d on %s, attempt %d on %s", p.job, other.attempt, other.node, p.attempt, p.node)
		}
	}
	if !p.repair {
		ps.checkOrder(p)
	}
	ps.of[p.job] = append(ps.of[p.job], p)
	ps.live[p.key] = p
	time.AfterFunc(p.fate.lasts, func() { ps.exit(m, p, process.Exit{Code: p.fate.code, Signal: p.fate.signal}, true) })
}

func (ps *processes) succeeded(job int64) bool {
	for _, p := range ps.of[job] {
		if p.ok && !p.repair {
			return true
		}
	}
	return false
}

// exit records the end of a process.
func (ps *processes) exit(m *machine, p *execution, e process.Exit, byItself bool) {
	ps.mu.Lock()
	if !p.end.IsZero() {
		ps.mu.Unlock()
		return
	}
	p.end = time.Now()
	p.exit, p.reported = e, !m.isDead()
	p.ok = e.Code == 0 && e.Signal == 0 && byItself
	delete(ps.live, p.key)
	ps.note("%s: job %d attempt %d ends: code %d, signal %d", p.node, p.job, p.attempt, e.Code, e.Signal)
	ps.mu.Unlock()
	if p.reported {
		e.At = p.end
		p.exited(e)
	}
}

// Signal is part of runner.Ender.
func (m *machine) Signal(key string, signal unix.Signal) {
	m.processes.mu.Lock()
	p := m.live[key]
	if p != nil {
		p.signaled = true
	}
	m.processes.mu.Unlock()
	if p == nil || p.fate.deaf && signal != unix.SIGKILL {
		return
	}
	after := p.fate.lingers
	if signal == unix.SIGKILL {
		after /= 1000
	}
	time.AfterFunc(after, func() { m.exit(m, p, process.Exit{Signal: int(signal)}, false) })
}

// outOfReach records that nobody can reach what runs on a node.
func (ps *processes) outOfReach(node string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.live {
		if strings.HasPrefix(p.node, node+".") {
			p.excused = true
		}
	}
}

// kill ends the runner of a machine, with everything that it has started.
func (m *machine) kill() {
	m.mu.Lock()
	m.dead, m.died = true, time.Now()
	m.mu.Unlock()
	m.processes.mu.Lock()
	defer m.processes.mu.Unlock()
	for key, p := range m.live {
		if p.node == m.name {
			p.end = time.Now()
			delete(m.live, key)
		}
	}
}

func (m *machine) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// isBad reports whether nothing can be started on the node of a runner.
func (w *world) isBad(runner string) bool {
	return w.faulty() && w.seed.of("bad", hostOf(runner)).is(0.03)
}

// hostOf returns the node of a runner, whose name starts with the node's.
func hostOf(runner string) string {
	node, _, _ := strings.Cut(runner, ".")
	return node
}
