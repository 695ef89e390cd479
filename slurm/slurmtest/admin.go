package slurmtest

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// KillNode kills a node's slurmd. The controller notices after SlurmdTimeout. With power
// the node's processes die at once, as in a power failure; otherwise they continue and
// cannot be reached.
func (c *Cluster) KillNode(name string, power bool) {
	c.do(func() {
		n := c.nodes.named(name)
		if power {
			for _, r := range slices.Clone(n.restarts) {
				if process := r.process; process != nil && r.nodes[0] == n {
					c.clock.unlocked(func() { process.Signal("KILL", Everything) })
				}
			}
		}
		n.dead = true
		c.clock.after(c.opts.SlurmdTimeout, func() {
			if n.dead {
				c.controller.nodeDown(n, "Not responding")
			}
		})
	})
}

// DownNode marks a node as down, like the administrator's `scontrol update nodename=…
// state=down`.
func (c *Cluster) DownNode(name, reason string) {
	c.do(func() { c.controller.nodeDown(c.nodes.named(name), reason) })
}

// DrainNode drains a node: its jobs continue, no others start there.
func (c *Cluster) DrainNode(name, reason string) {
	c.do(func() { n := c.nodes.named(name); n.drain, n.reason = true, reason })
}

// RestoreNode restores a node. If the controller had not noticed the failure, the slurmd
// reports which scripts have ended in the meantime; if it had, the slurmd kills the
// processes of jobs that are no longer on the node.
func (c *Cluster) RestoreNode(name string) {
	c.do(func() { c.controller.restore(c.nodes.named(name), c.queue.jobs) })
}

// Preempt preempts a running job in the way of its partition, although no other job needs
// its place.
func (c *Cluster) Preempt(id slurm.JobID) {
	c.withRunning(id, c.controller.preempt)
}

// OutOfMemory kills a running job as the kernel does when its memory is used up.
func (c *Cluster) OutOfMemory(id slurm.JobID) {
	c.withRunning(id, func(r *restart) {
		r.oom = true
		c.controller.send(r, "KILL", Everything)
	})
}

// Suspend stops a running job, like the administrator's `scontrol suspend`.
func (c *Cluster) Suspend(id slurm.JobID) { c.withRunning(id, c.controller.suspend) }

// Resume continues a suspended job.
func (c *Cluster) Resume(id slurm.JobID) { c.withRunning(id, c.controller.resume) }

// Requeue ends a running job, which then waits for its next restart.
func (c *Cluster) Requeue(id slurm.JobID) {
	c.withRunning(id, func(r *restart) { c.controller.requeue(r, false) })
}

// CancelAs cancels a job as a user.
func (c *Cluster) CancelAs(uid int, id slurm.JobID) {
	c.do(func() {
		if j := c.queue.job(id.Number); j != nil {
			c.controller.cancel(j, uid)
		}
	})
}

// withRunning calls action with the current restart of a job, if it is running.
func (c *Cluster) withRunning(id slurm.JobID, action func(*restart)) {
	c.do(func() {
		if j := c.queue.job(id.Number); j != nil {
			if r := j.current(); r != nil && !r.completing {
				action(r)
			}
		}
	})
}
