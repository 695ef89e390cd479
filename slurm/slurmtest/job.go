package slurmtest

import (
	"slices"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// job is a job of the fake cluster.
type job struct {
	request
	number   int64
	user     string
	uid      int
	submit   time.Time
	eligible time.Time
	state    slurm.State // without flags
	reason   string
	held     bool
	lives    []*life // the last one is the present one, if it has started
	restarts int
	ended    time.Time
	exit     slurm.ExitCode
	canceler int // uid of who cancelled it; -1 if nobody did
}

// life is one start of a job on its nodes.
type life struct {
	job         *job
	restart     int
	nodes       []*node
	start       time.Time
	limit       time.Time // when its time is over
	suspendedAt time.Time
	end         time.Time
	state       slurm.State
	exit        slurm.ExitCode
	completing  bool // Slurm has ended it and waits for its processes
	released    bool // its nodes are free again
	suspended   bool
	preempted   bool // has been told that it must go
	requeue     bool // the job waits again when this life is over
	hold        bool // and is held then
	oom         bool
	process     Process
	alive       bool            // its script has not ended, as far as anybody could know
	unreported  *slurm.ExitCode // its script ended while its slurmd was dead
	history     []seen          // what accounting was told, oldest first
	steps       []*step
}

// step is a step that srun started.
type step struct {
	number     int
	name       string
	state      slurm.State
	exit       slurm.ExitCode
	start, end time.Time
}

// seen is a state of a life and since when accounting shows it.
type seen struct {
	at     time.Time
	record slurm.Record
}

func (j *job) id() slurm.JobID { return slurm.JobID{Number: j.number} }

func (j *job) over() bool { return j.state.Over() && !j.completing() }

func (j *job) completing() bool {
	l := j.life()
	return l != nil && l.completing && !l.released
}

// life is the present life, whether it runs or has ended; nil if the job waits
// for its next start or ended before it.
func (j *job) life() *life {
	if n := len(j.lives); n > 0 && j.lives[n-1].restart == j.restarts {
		return j.lives[n-1]
	}
	return nil
}

// start begins a life on nodes.
func (c *Cluster) start(j *job, nodes []*node) {
	l := &life{job: j, restart: j.restarts, nodes: nodes, start: c.now, limit: c.now.Add(j.time), state: slurm.Running, alive: true}
	j.lives = append(j.lives, l)
	for _, n := range nodes {
		n.lives = append(n.lives, l)
	}
	j.state, j.reason = slurm.Running, ""
	c.record(l)
	c.after(j.time, func() { c.timeUp(l) })
	if j.signal != "" {
		c.after(max(j.time-j.signalLead, 0), func() { c.warn(l) })
	}
	c.effects = append(c.effects, func() {
		process := c.opts.Launch(c, c.describe(l))
		c.do(func() {
			l.process = process
			if l.completing || l.released { // ended while it was being started
				c.send(l, "KILL", Everything)
			}
		})
	})
}

// send gives a signal to a life's processes.
func (c *Cluster) send(l *life, signal string, to Target) {
	process := l.process
	if process == nil || !l.alive || l.allDead() {
		return
	}
	c.effects = append(c.effects, func() { process.Signal(signal, to) })
}

// allDead tells whether nobody is left to carry a signal to the processes.
func (l *life) allDead() bool {
	for _, n := range l.nodes {
		if !n.dead {
			return false
		}
	}
	return true
}

// warn sends the signal of --signal.
func (c *Cluster) warn(l *life) {
	if !l.suspended && !l.completing {
		c.send(l, l.job.signal, l.job.signalTo)
	}
}

func (c *Cluster) timeUp(l *life) {
	if l.completing || l.released {
		return
	}
	if l.suspended {
		c.after(c.opts.KillWait, func() { c.timeUp(l) })
		return
	}
	if c.now.Before(l.limit) { // the limit was moved, or it was suspended
		c.after(l.limit.Sub(c.now), func() { c.timeUp(l) })
		return
	}
	l.job.reason = "TimeLimit"
	c.terminate(l, slurm.Timeout)
}

// terminate ends a life: its state is final at once, its processes get SIGTERM
// and, KillWait later, SIGKILL; its nodes are free when they are gone.
func (c *Cluster) terminate(l *life, state slurm.State) {
	if l.completing || l.released {
		return
	}
	l.completing = true
	c.finish(l, state)
	c.send(l, "CONT", Everything)
	c.send(l, "TERM", Everything)
	c.after(c.opts.KillWait, func() { c.send(l, "KILL", Everything) })
}

// finish writes down how a life ended.
func (c *Cluster) finish(l *life, state slurm.State) {
	j := l.job
	l.state, l.end, l.suspended = state, c.now, false
	j.state, j.ended, j.exit = state, c.now, l.exit
	c.record(l)
}

// exited is called when a life's script has ended.
func (c *Cluster) exited(l *life, exit slurm.ExitCode) {
	l.alive = false
	if l.released {
		return
	}
	if l.nodes[0].dead {
		l.unreported = &exit
		return
	}
	if !l.completing {
		l.completing = true
		l.exit = exit
		l.job.reason = ""
		state := slurm.Completed
		switch {
		case l.oom:
			state, l.exit, l.job.reason = slurm.OutOfMemory, slurm.ExitCode{Signal: 125}, "OutOfMemory"
		case exit.Code != 0:
			state, l.job.reason = slurm.Failed, "NonZeroExitCode"
		case exit.Signal != 0:
			state, l.job.reason = slurm.Failed, "JobLaunchFailure"
		}
		c.finish(l, state)
	}
	c.after(c.opts.Completing, func() { c.release(l) })
}

// release gives the nodes back; a requeued job waits again.
func (c *Cluster) release(l *life) {
	if l.released {
		return
	}
	l.released = true
	for _, n := range l.nodes {
		n.lives = slices.DeleteFunc(n.lives, func(other *life) bool { return other == l })
	}
	j := l.job
	if !l.requeue {
		j.ended = c.now
		return
	}
	j.restarts++
	j.state, j.exit = slurm.Pending, slurm.ExitCode{}
	j.reason = "BeginTime"
	j.submit, j.eligible = c.now, c.now.Add(c.opts.RequeueDelay)
	if l.hold {
		j.held, j.reason = true, "JobHeldUser"
	}
	c.after(c.opts.RequeueDelay, func() {})
}

// cancel ends a job whatever it does.
func (c *Cluster) cancel(j *job, uid int) {
	if j.over() {
		return
	}
	j.canceler = uid
	if l := j.life(); l != nil {
		if l.completing && l.requeue { // it was to wait again
			j.state, j.ended = slurm.Cancelled, c.now
		}
		l.requeue = false
		c.terminate(l, slurm.Cancelled)
		return
	}
	j.state, j.ended = slurm.Cancelled, c.now
}

// preempt tells a life to make room: its steps get SIGTERM now (the batch script
// gets nothing), all of it ends after the grace time.
func (c *Cluster) preempt(l *life) {
	if l.preempted || l.completing {
		return
	}
	p, _ := c.partition(l.job.partition)
	l.preempted = true
	l.requeue = p.PreemptMode == "REQUEUE" && l.job.requeue
	l.limit = minTime(l.limit, c.now.Add(p.GraceTime))
	if p.GraceTime > 0 {
		c.send(l, "CONT", Steps)
		c.send(l, "TERM", Steps)
	}
	c.after(p.GraceTime, func() { c.terminate(l, slurm.Preempted) })
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// record tells accounting about a life.
func (c *Cluster) record(l *life) {
	j := l.job
	r := slurm.Record{
		ID: slurm.StepID{Job: j.id()}, Name: j.name, User: j.user, Account: j.account, Partition: j.partition,
		QOS: j.qos, State: l.state, Exit: l.exit, Submit: j.submit, Eligible: j.eligible,
		Start: l.start, End: l.end, NodeList: l.nodeList(), Nodes: len(l.nodes), CPUs: j.cpusPerNode() * len(l.nodes),
		Memory: slurm.Memory{Bytes: j.memory}, TimeLimit: j.time, Comment: j.comment,
	}
	if l.state == slurm.Cancelled && j.canceler >= 0 {
		r.CancelledBy = strconv.Itoa(j.canceler)
	}
	l.history = append(l.history, seen{at: c.now.Add(c.opts.Lag), record: r})
}

func (l *life) nodeList() string {
	names := make([]string, len(l.nodes))
	for i, n := range l.nodes {
		names[i] = n.Name
	}
	return slurm.JoinNodes(names)
}
