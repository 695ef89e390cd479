package slurmtest

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// KillNode ends a node's slurmd. The controller notices after SlurmdTimeout.
// With power the node's processes die at once; otherwise they live on and
// nobody can reach them.
func (c *Cluster) KillNode(name string, power bool) {
	c.do(func() {
		n := c.node(name)
		if power {
			for _, l := range slices.Clone(n.lives) {
				if process := l.process; process != nil && l.nodes[0] == n {
					c.effects = append(c.effects, func() { process.Signal("KILL", Everything) })
				}
			}
		}
		n.dead = true
		c.after(c.opts.SlurmdTimeout, func() {
			if n.dead {
				c.nodeDown(n, "Not responding")
			}
		})
	})
}

// DownNode is the administrator's `scontrol update nodename=… state=down`.
func (c *Cluster) DownNode(name, reason string) {
	c.do(func() { c.nodeDown(c.node(name), reason) })
}

// DrainNode lets the node's jobs end and starts no more there.
func (c *Cluster) DrainNode(name, reason string) {
	c.do(func() { n := c.node(name); n.drain, n.reason = true, reason })
}

// RestoreNode brings a node back. A slurmd that was not missed reports what has
// ended meanwhile; one that was missed kills what it should not have any more.
func (c *Cluster) RestoreNode(name string) {
	c.do(func() {
		n := c.node(name)
		n.dead, n.down, n.drain, n.reason = false, false, false, ""
		for _, l := range slices.Clone(n.lives) {
			if l.unreported != nil {
				c.exited(l, *l.unreported)
			}
		}
		c.killLeftovers(n)
	})
}

// killLeftovers ends processes of lives that the controller has given up.
func (c *Cluster) killLeftovers(n *node) {
	for _, j := range c.jobs {
		for _, l := range j.lives {
			if l.alive && l.released && slices.Contains(l.nodes, n) {
				c.send(l, "KILL", Everything)
			}
		}
	}
}

// nodeDown ends the lives on a node with NODE_FAIL; jobs that may be requeued
// wait again.
func (c *Cluster) nodeDown(n *node, reason string) {
	n.down, n.reason = true, reason
	for _, l := range slices.Clone(n.lives) {
		if l.completing {
			c.release(l)
			continue
		}
		l.requeue = l.job.requeue
		l.job.reason = "NodeDown"
		c.terminate(l, slurm.NodeFail)
		// The controller does not wait for a node that is down.
		c.release(l)
	}
}

// Preempt preempts a running job as its partition says, without a job that
// would need its place.
func (c *Cluster) Preempt(id slurm.JobID) {
	c.withLife(id, c.preempt)
}

// OutOfMemory lets the kernel kill a job's script for its memory.
func (c *Cluster) OutOfMemory(id slurm.JobID) {
	c.withLife(id, func(l *life) {
		l.oom = true
		c.send(l, "KILL", Everything)
	})
}

// Suspend and Resume are the administrator's commands of that name.
func (c *Cluster) Suspend(id slurm.JobID) { c.withLife(id, c.suspend) }

// Resume lets a suspended job go on.
func (c *Cluster) Resume(id slurm.JobID) { c.withLife(id, c.resume) }

// Requeue ends the present life of a job and lets it wait for the next.
func (c *Cluster) Requeue(id slurm.JobID) {
	c.withLife(id, func(l *life) { c.requeue(l, false) })
}

// CancelAs cancels a job in the name of a user.
func (c *Cluster) CancelAs(uid int, id slurm.JobID) {
	c.do(func() {
		if j := c.job(id.Number); j != nil {
			c.cancel(j, uid)
		}
	})
}

// withLife does something to a running job; to one that does not run nothing
// happens.
func (c *Cluster) withLife(id slurm.JobID, action func(*life)) {
	c.do(func() {
		if j := c.job(id.Number); j != nil {
			if l := j.life(); l != nil && !l.completing {
				action(l)
			}
		}
	})
}

func (c *Cluster) suspend(l *life) {
	if !l.suspended {
		l.suspended = true
		l.suspendedAt = c.now
		l.state = slurm.Suspended
		c.record(l)
		c.send(l, "STOP", Everything)
	}
}

func (c *Cluster) resume(l *life) {
	if l.suspended {
		l.suspended = false
		l.state = slurm.Running
		l.limit = l.limit.Add(c.now.Sub(l.suspendedAt)) // suspended time does not count
		c.record(l)
		c.send(l, "CONT", Everything)
	}
}

func (c *Cluster) requeue(l *life, hold bool) {
	l.requeue, l.hold = true, hold
	c.terminate(l, slurm.Requeued)
}
