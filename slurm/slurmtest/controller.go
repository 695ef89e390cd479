package slurmtest

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// controller starts and ends jobs on nodes, as slurmctld and slurmd do.
type controller struct {
	clock      *timeline
	accounting *accounting
	partitions partitions

	killWait     time.Duration
	completing   time.Duration
	requeueDelay time.Duration

	// launch starts the script of a restart. It is called without the lock, and calls
	// started with it.
	launch func(r *restart, started func(Process))
}

// start starts a job on nodes.
func (c *controller) start(j *job, nodes []*node) {
	now := c.clock.now
	r := &restart{job: j, number: j.restartCount, nodes: nodes, start: now, limit: now.Add(j.time), state: slurm.Running, alive: true}
	j.restarts = append(j.restarts, r)
	for _, n := range nodes {
		n.restarts = append(n.restarts, r)
	}
	j.state, j.reason = slurm.Running, ""
	c.accounting.record(r)
	c.clock.after(j.time, func() { c.timeUp(r) })
	if j.signal != "" {
		c.clock.after(max(j.time-j.signalLead, 0), func() { c.warn(r) })
	}
	c.clock.unlocked(func() {
		c.launch(r, func(process Process) {
			r.process = process
			if r.completing || r.released { // ended while it was being started
				c.send(r, "KILL", Everything)
			}
		})
	})
}

// send sends a signal to processes of a restart.
func (c *controller) send(r *restart, signal string, to Target) {
	process := r.process
	if process == nil || !r.alive || r.unreachable() {
		return
	}
	c.clock.unlocked(func() { process.Signal(signal, to) })
}

// warn sends the signal that --signal requests.
func (c *controller) warn(r *restart) {
	if !r.suspended && !r.completing {
		c.send(r, r.job.signal, r.job.signalTo)
	}
}

// timeUp ends a restart whose time limit has passed.
func (c *controller) timeUp(r *restart) {
	if r.completing || r.released {
		return
	}
	if r.suspended {
		c.clock.after(c.killWait, func() { c.timeUp(r) })
		return
	}
	if c.clock.now.Before(r.limit) { // the limit was moved, or it was suspended
		c.clock.after(r.limit.Sub(c.clock.now), func() { c.timeUp(r) })
		return
	}
	r.job.reason = "TimeLimit"
	c.terminate(r, slurm.Timeout)
}

// terminate ends a restart: its state is final at once, its processes get SIGTERM
// and, killWait later, SIGKILL; its nodes are free when they are gone.
func (c *controller) terminate(r *restart, state slurm.State) {
	if r.completing || r.released {
		return
	}
	r.completing = true
	c.finish(r, state)
	c.send(r, "CONT", Everything)
	c.send(r, "TERM", Everything)
	c.clock.after(c.killWait, func() { c.send(r, "KILL", Everything) })
}

// finish sets the final state of a restart and its job.
func (c *controller) finish(r *restart, state slurm.State) {
	j := r.job
	r.state, r.end, r.suspended = state, c.clock.now, false
	j.state, j.ended, j.exit = state, c.clock.now, r.exit
	c.accounting.record(r)
}

// exited ends a restart whose script has ended.
func (c *controller) exited(r *restart, exit slurm.ExitCode) {
	r.alive = false
	if r.released {
		return
	}
	if r.nodes[0].dead {
		r.unreported = &exit
		return
	}
	if !r.completing {
		r.completing = true
		r.exit = exit
		r.job.reason = ""
		state := slurm.Completed
		switch {
		case r.oom:
			state, r.exit, r.job.reason = slurm.OutOfMemory, slurm.ExitCode{Signal: 125}, "OutOfMemory"
		case exit.Code != 0:
			state, r.job.reason = slurm.Failed, "NonZeroExitCode"
		case exit.Signal != 0:
			state, r.job.reason = slurm.Failed, "JobLaunchFailure"
		}
		c.finish(r, state)
	}
	c.clock.after(c.completing, func() { c.release(r) })
}

// release frees the nodes of a restart; a requeued job waits again.
func (c *controller) release(r *restart) {
	if r.released {
		return
	}
	r.released = true
	for _, n := range r.nodes {
		n.restarts = slices.DeleteFunc(n.restarts, func(other *restart) bool { return other == r })
	}
	j := r.job
	if !r.requeue {
		j.ended = c.clock.now
		return
	}
	j.restartCount++
	j.state, j.exit = slurm.Pending, slurm.ExitCode{}
	j.reason = "BeginTime"
	j.submit, j.eligible = c.clock.now, c.clock.now.Add(c.requeueDelay)
	if r.hold {
		j.held, j.reason = true, "JobHeldUser"
	}
	c.clock.after(c.requeueDelay, func() {})
}

// cancel ends a job in any state.
func (c *controller) cancel(j *job, uid int) {
	if j.over() {
		return
	}
	j.canceler = uid
	if r := j.current(); r != nil {
		if r.completing && r.requeue { // it would have waited again
			j.state, j.ended = slurm.Cancelled, c.clock.now
		}
		r.requeue = false
		c.terminate(r, slurm.Cancelled)
		return
	}
	j.state, j.ended = slurm.Cancelled, c.clock.now
}

// preempt preempts a restart: its steps get SIGTERM now (the batch script gets no
// signal), and the whole restart ends after the grace time.
func (c *controller) preempt(r *restart) {
	if r.preempted || r.completing {
		return
	}
	p, _ := c.partitions.named(r.job.partition)
	r.preempted = true
	r.requeue = p.PreemptMode == "REQUEUE" && r.job.requeue
	r.limit = minTime(r.limit, c.clock.now.Add(p.GraceTime))
	if p.GraceTime > 0 {
		c.send(r, "CONT", Steps)
		c.send(r, "TERM", Steps)
	}
	c.clock.after(p.GraceTime, func() { c.terminate(r, slurm.Preempted) })
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// suspend stops the processes of a restart.
func (c *controller) suspend(r *restart) {
	if !r.suspended {
		r.suspended = true
		r.suspendedAt = c.clock.now
		r.state = slurm.Suspended
		c.accounting.record(r)
		c.send(r, "STOP", Everything)
	}
}

// resume continues a suspended restart. Its limit moves by the time that it was
// suspended.
func (c *controller) resume(r *restart) {
	if r.suspended {
		r.suspended = false
		r.state = slurm.Running
		r.limit = r.limit.Add(c.clock.now.Sub(r.suspendedAt))
		c.accounting.record(r)
		c.send(r, "CONT", Everything)
	}
}

// requeue ends a restart; its job waits again, and is held if hold is set.
func (c *controller) requeue(r *restart, hold bool) {
	r.requeue, r.hold = true, hold
	c.terminate(r, slurm.Requeued)
}

// setLimit gives a restart the current time limit of its job.
func (c *controller) setLimit(r *restart) {
	r.limit = r.start.Add(r.job.time)
	c.clock.after(max(r.limit.Sub(c.clock.now), 0), func() { c.timeUp(r) })
}

// nodeDown ends the restarts on a node with NODE_FAIL; jobs that may be requeued
// wait again.
func (c *controller) nodeDown(n *node, reason string) {
	n.down, n.reason = true, reason
	for _, r := range slices.Clone(n.restarts) {
		if r.completing {
			c.release(r)
			continue
		}
		r.requeue = r.job.requeue
		r.job.reason = "NodeDown"
		c.terminate(r, slurm.NodeFail)
		// The controller does not wait for a node that is down.
		c.release(r)
	}
}

// restore restores a node, see RestoreNode; jobs are all jobs.
func (c *controller) restore(n *node, jobs []*job) {
	n.dead, n.down, n.drain, n.reason = false, false, false, ""
	for _, r := range slices.Clone(n.restarts) {
		if r.unreported != nil {
			c.exited(r, *r.unreported)
		}
	}
	for _, j := range jobs {
		for _, r := range j.restarts {
			if r.alive && r.released && slices.Contains(r.nodes, n) {
				c.send(r, "KILL", Everything)
			}
		}
	}
}
