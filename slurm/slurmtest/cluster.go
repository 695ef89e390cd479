// Package slurmtest provides Slurm clusters for tests: a fake one, which is a state
// machine in this process, and a real one, which a script of this package starts on
// this machine. Both pass the same conformance suite.
//
// The fake cluster has nodes, partitions with preemption, time limits, requeue,
// out-of-memory kills, node failures, an accounting database that lags, and
// faults on request. Run answers the commands of package slurm. Time passes in the
// cluster when Advance or Run is called, or, with a real clock, while Live runs; it
// is that of the clock in the options.
//
// Its parts are those of Slurm: a queue, a scheduler, a controller that starts and
// ends jobs on nodes, accounting, and the programs that ask them. They share a
// timeline and the lock of the Cluster.
package slurmtest

import (
	"context"
	"fmt"
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
// starts: nodes n1 … n4, partitions debug, standby and scavenge, accounts
// research and limited.
type Options struct {
	Now           func() time.Time // nil: time.Now
	Name          string
	User          string // the user who runs the commands; "" is torctest, with uid 999
	Nodes         []Node
	Partitions    []Partition       // the first is the default
	Accounts      map[string]string // to the QOS of their jobs
	QOS           map[string]Limits
	Launch        Launcher      // nil: Pretend
	KillWait      time.Duration // from SIGTERM to SIGKILL; 0: 3 s
	MinJobAge     time.Duration // 0: 60 s
	SlurmdTimeout time.Duration // from a node's death until the controller notices; 0: 10 s
	RequeueDelay  time.Duration // from a requeue to the next start; 0: 120 s
	Completing    time.Duration // how long COMPLETING lasts after the last process
	Lag           time.Duration // from an event to its record in accounting
}

// Cluster is a fake Slurm. It is safe for concurrent use; with one goroutine
// and a virtual clock it is deterministic.
type Cluster struct {
	opts Options

	mu         sync.Mutex // for everything below
	clock      *timeline
	queue      *queue
	nodes      nodes
	controller *controller
	scheduler  *scheduler
	accounting *accounting
	faults     faults
	calls      []slurm.Command
}

// New returns a cluster in which nothing has happened.
func New(opts Options) *Cluster {
	opts = withDefaults(opts)
	clock := newTimeline(opts.Now())
	c := &Cluster{
		opts: opts, clock: clock, queue: &queue{clock: clock, minJobAge: opts.MinJobAge},
		accounting: &accounting{clock: clock, cluster: opts.Name, lag: opts.Lag, history: map[*restart][]recorded{}},
	}
	for _, n := range opts.Nodes {
		c.nodes = append(c.nodes, &node{Node: n})
	}
	c.controller = &controller{
		clock: clock, accounting: c.accounting, partitions: opts.Partitions,
		killWait: opts.KillWait, completing: opts.Completing, requeueDelay: opts.RequeueDelay, launch: c.launch,
	}
	c.scheduler = &scheduler{
		clock: clock, queue: c.queue, nodes: c.nodes, partitions: opts.Partitions, qos: opts.QOS, controller: c.controller,
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

// partitions are the queues of the cluster; the first is the default.
type partitions []Partition

// named returns a partition, the default one for ""; false if there is none.
func (ps partitions) named(name string) (Partition, bool) {
	for _, p := range ps {
		if name == "" || p.Name == name {
			return p, true
		}
	}
	return Partition{}, false
}

func (ps partitions) tier(j *job) int {
	p, _ := ps.named(j.partition)
	return p.PriorityTier
}

// do runs an action and then the scheduler, with the lock and at the current time, and
// then the effects of both without the lock: scripts are started and get signals.
func (c *Cluster) do(action func()) {
	c.mu.Lock()
	c.advance(c.opts.Now())
	action()
	c.scheduler.schedule()
	c.flush()
	c.mu.Unlock()
}

// flush runs the effects without the lock, and returns with the lock held.
func (c *Cluster) flush() {
	for effect := c.clock.effect(); effect != nil; effect = c.clock.effect() {
		c.mu.Unlock()
		effect()
		c.mu.Lock()
	}
}

// advance runs the timers that are due, each at its time.
func (c *Cluster) advance(to time.Time) {
	for run := c.clock.due(to); run != nil; run = c.clock.due(to) {
		run()
		c.scheduler.schedule()
		c.flush()
	}
}

// launch starts the script of a restart.
func (c *Cluster) launch(r *restart, started func(Process)) {
	process := c.opts.Launch(c, c.describe(r))
	c.do(func() { started(process) })
}

// After calls run, without the lock, when d has passed in the cluster. It is for
// launchers.
func (c *Cluster) After(d time.Duration, run func()) {
	c.do(func() {
		c.clock.after(d, func() { c.clock.unlocked(run) })
	})
}

// Advance advances the cluster to the current time of its clock.
func (c *Cluster) Advance() { c.do(func() {}) }

// Next returns when the next timer of the cluster is due; false if there is none.
func (c *Cluster) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.next()
}

// Live keeps the cluster at the current time of a real clock until ctx ends.
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
		case <-c.clock.wake:
			t.Stop()
		case <-t.C:
		}
	}
}

// Jobs returns the ids of all jobs that were ever accepted.
func (c *Cluster) Jobs() []slurm.JobID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.ids()
}
