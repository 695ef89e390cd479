// Package slurmtest has clusters for tests: a fake one, which is a state machine
// in this process, and a real one, which a script of this package brings up on
// this machine. Both pass the same conformance suite.
//
// The fake cluster has nodes, partitions with preemption, time limits, requeue,
// out-of-memory kills, node failures, an accounting database that lags, and
// faults on request. It answers the commands of package slurm (Run), reads the
// clock that it is given, and does nothing by itself: time passes in it when
// Advance or Run is called, or, with a real clock, while Live runs.
package slurmtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Node is a machine of the fake cluster.
type Node struct {
	Name   string
	CPUs   int
	Memory int64 // bytes
	GPUs   int
}

// Partition is a queue of the fake cluster.
type Partition struct {
	Name         string
	Nodes        []string      // nil: all
	MaxTime      time.Duration // 0: a day
	DefaultTime  time.Duration // 0: ten minutes
	PriorityTier int
	PreemptMode  string // "" is OFF; REQUEUE, CANCEL
	GraceTime    time.Duration
}

// Limits of a QOS; 0 is no limit.
type Limits struct {
	MaxSubmitPerUser int
	MaxJobsPerUser   int
	MaxWall          time.Duration
}

// Options describe a cluster; the zero value is the cluster that cluster.sh
// brings up: nodes n1 … n4, partitions debug, standby and scavenge, accounts
// research and limited.
type Options struct {
	Now           func() time.Time // nil: time.Now
	Name          string
	User          string // who runs the commands; "" is torctest, with uid 999
	Nodes         []Node
	Partitions    []Partition       // the first is the default
	Accounts      map[string]string // to the QOS of their jobs
	QOS           map[string]Limits
	Launch        Launcher      // nil: Pretend
	KillWait      time.Duration // from SIGTERM to SIGKILL; 0: 3 s
	MinJobAge     time.Duration // 0: 60 s
	SlurmdTimeout time.Duration // from a node's death to the controller's notice; 0: 10 s
	RequeueDelay  time.Duration // from a requeue to the next start; 0: 120 s
	Completing    time.Duration // how long COMPLETING lasts after the last process
	Lag           time.Duration // from an event to its record in accounting
}

// Cluster is a fake Slurm. It is safe for concurrent use; with one goroutine
// and a virtual clock it is deterministic.
type Cluster struct {
	opts Options

	mu      sync.Mutex
	now     time.Time
	lastID  int64
	jobs    []*job // by id
	nodes   []*node
	timers  []timer // by time, then by order of their making
	made    int
	effects []func() // to be called without the lock, in order
	faults  []*Fault
	calls   []slurm.Command
	wake    chan struct{} // tells Live that a timer was made
}

// timer is something that happens at a time.
type timer struct {
	at   time.Time
	made int
	run  func()
}

// node is the state of a Node.
type node struct {
	Node
	dead   bool    // slurmd does not answer
	down   bool    // the controller has noticed, or an administrator said so
	drain  bool    // takes no new jobs
	reason string  // why
	lives  []*life // that hold a part of it, oldest first
}

// New makes a cluster.
func New(opts Options) *Cluster {
	opts = withDefaults(opts)
	c := &Cluster{opts: opts, now: opts.Now(), wake: make(chan struct{}, 1)}
	for _, n := range opts.Nodes {
		c.nodes = append(c.nodes, &node{Node: n})
	}
	return c
}

func withDefaults(o Options) Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Name == "" {
		o.Name = "torctest"
	}
	if o.User == "" {
		o.User = TestUser
	}
	if o.Nodes == nil {
		for i := range 4 {
			o.Nodes = append(o.Nodes, Node{Name: fmt.Sprintf("n%d", i+1), CPUs: 4, Memory: 4000 * slurm.MiB})
		}
		o.Nodes[3].GPUs = 2
	}
	if o.Partitions == nil {
		o.Partitions = []Partition{
			{Name: "debug", PriorityTier: 10},
			{Name: "standby", PriorityTier: 1, PreemptMode: "REQUEUE", GraceTime: 2 * time.Second},
			{Name: "scavenge", PriorityTier: 1, PreemptMode: "CANCEL", GraceTime: 2 * time.Second},
		}
	}
	if o.Accounts == nil {
		o.Accounts = map[string]string{"research": "normal", "limited": "small"}
		o.QOS = map[string]Limits{"small": {MaxSubmitPerUser: 4, MaxJobsPerUser: 2, MaxWall: 30 * time.Minute}}
	}
	if o.Launch == nil {
		o.Launch = Pretend
	}
	orElse(&o.KillWait, 3*time.Second)
	orElse(&o.MinJobAge, time.Minute)
	orElse(&o.SlurmdTimeout, 10*time.Second)
	orElse(&o.RequeueDelay, 2*time.Minute)
	for i := range o.Partitions {
		p := &o.Partitions[i]
		orElse(&p.MaxTime, 24*time.Hour)
		orElse(&p.DefaultTime, 10*time.Minute)
		if p.PreemptMode == "" {
			p.PreemptMode = "OFF"
		}
	}
	return o
}

func orElse(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

// do runs an action under the lock at the present time, lets the scheduler
// look, and then carries out what the action wants done outside: starting
// scripts and sending them signals.
func (c *Cluster) do(action func()) {
	c.mu.Lock()
	c.advance(c.opts.Now())
	action()
	c.schedule()
	c.flush()
	c.mu.Unlock()
}

// flush runs effects without the lock.
func (c *Cluster) flush() {
	for len(c.effects) > 0 {
		effect := c.effects[0]
		c.effects = c.effects[1:]
		c.mu.Unlock()
		effect()
		c.mu.Lock()
	}
}

// advance lets everything happen that is due, each at its time.
func (c *Cluster) advance(to time.Time) {
	for len(c.timers) > 0 && !c.timers[0].at.After(to) {
		next := c.timers[0]
		c.timers = c.timers[1:]
		if next.at.After(c.now) {
			c.now = next.at
		}
		next.run()
		c.schedule()
		c.flush()
	}
	if to.After(c.now) {
		c.now = to
	}
}

// after makes a timer; run has the lock.
func (c *Cluster) after(d time.Duration, run func()) {
	c.made++
	t := timer{at: c.now.Add(d), made: c.made, run: run}
	i, _ := slices.BinarySearchFunc(c.timers, t, func(a, b timer) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		return a.made - b.made
	})
	c.timers = slices.Insert(c.timers, i, t)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// After calls run when d has passed in the cluster; for launchers.
func (c *Cluster) After(d time.Duration, run func()) {
	c.do(func() {
		c.after(d, func() { c.effects = append(c.effects, run) })
	})
}

// Advance brings the cluster to the present of its clock.
func (c *Cluster) Advance() { c.do(func() {}) }

// Next is when something will happen in the cluster by itself; false if nothing
// will.
func (c *Cluster) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.timers[0].at, true
}

// Live advances the cluster with the real clock until ctx ends.
func (c *Cluster) Live(ctx context.Context) {
	for {
		c.Advance()
		wait := time.Hour
		if next, ok := c.Next(); ok {
			wait = max(next.Sub(c.opts.Now()), 0)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-c.wake:
			t.Stop()
		case <-t.C:
		}
	}
}

// partition finds a partition; the default one for "".
func (c *Cluster) partition(name string) (Partition, bool) {
	for _, p := range c.opts.Partitions {
		if name == "" || p.Name == name {
			return p, true
		}
	}
	return Partition{}, false
}

// node finds a node.
func (c *Cluster) node(name string) *node {
	for _, n := range c.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// job finds a job that the controller has not forgotten.
func (c *Cluster) job(number int64) *job {
	for _, j := range c.jobs {
		if j.number == number && !c.forgotten(j) {
			return j
		}
	}
	return nil
}

// forgotten tells whether a job has left the controller's memory.
func (c *Cluster) forgotten(j *job) bool {
	return j.over() && c.now.Sub(j.ended) >= c.opts.MinJobAge
}
