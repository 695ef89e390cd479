package runner

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
)

// staleQueue is how long a granted job may wait for room before it is given
// back: it was taken ahead of jobs that turned out to be long.
const staleQueue = 2 * time.Second

// accept takes in a grant. The same grant twice is one.
func (r *Runner) accept(g api.Grant, now time.Time) {
	if r.attempts[g.LeaseRef] != nil || r.turns.isClosed[g.LeaseRef] {
		return
	}
	a := &attempt{
		grant: g, granted: now, phase: queued,
		key: fmt.Sprintf("%s.%d.%d.%d", r.key, g.JobID, g.Attempt, g.Fence),
	}
	r.attempts[g.LeaseRef] = a
	r.active = now
	r.emitFor(a, Event{Kind: EventGranted})
	switch {
	case g.Recovery != nil:
		r.repair(a, g.Recovery)
	case r.leaving.active():
		r.discard(a)
	default:
		r.queue = append(r.queue, a)
	}
}

// discard gives a job back that was not started.
func (r *Runner) discard(a *attempt) {
	a.phase = discarding
	r.turns.giveBack = append(r.turns.giveBack, a.ref())
}

func (r *Runner) giveBackQueue() {
	for _, a := range r.queue {
		r.discard(a)
	}
	r.queue = nil
}

// startQueued starts granted jobs in the order of their grants while there is
// room, and gives back those that waited too long for it.
func (r *Runner) startQueued(now time.Time) {
	if len(r.queue) == 0 || r.pause.active() || now.After(r.turns.leaseUntil) {
		return // without a valid lease somebody else may have the job
	}
	n := 0
	for _, a := range r.queue {
		hosts := r.roomFor(a)
		if hosts == nil {
			break
		}
		r.start(a, hosts)
		n++
	}
	r.queue = r.queue[n:]
	if len(r.queue) > 0 && now.Sub(r.queue[0].granted) > staleQueue {
		r.log.Debug("giving back jobs that were taken too early", "jobs", len(r.queue))
		r.giveBackQueue()
		r.pace = pace{} // take nothing ahead until short jobs are seen again
	}
}

// roomFor finds the hosts on which a can start now, none if it must wait. A job
// that is larger than the node would wait for ever: it may start when it is
// alone.
func (r *Runner) roomFor(a *attempt) []*host {
	if r.byJob[a.grant.JobID] != nil {
		return nil // an attempt that we lost still has processes
	}
	if r.opts.MaxParallelJobs > 0 && r.busy >= r.opts.MaxParallelJobs {
		return nil
	}
	hosts := r.placeFor(&a.grant, r.hosts)
	if hosts == nil && r.busy == 0 {
		return r.hosts[:1]
	}
	return hosts
}

// start takes room for a and has its process started.
func (r *Runner) start(a *attempt, hosts []*host) {
	a.phase = starting
	r.byJob[a.grant.JobID] = a
	a.taken = true
	r.reserve(a, hosts)
	if a.alone = r.busy == 0; r.busy == 1 {
		for _, other := range r.byJob {
			other.alone = false
		}
	}
	r.busy++
	visible, shared := r.gpus.take(a.grant.GPUs)
	if shared {
		r.log.Warn("more GPUs in use than there are; sharing", "job_id", a.grant.JobID)
	} else {
		a.gpus = visible
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.name
	}
	timeLimit := r.stepTime(time.Now())
	r.pool.do(func() { r.launch(a, visible, names, timeLimit) })
}

// release gives back what start took.
func (r *Runner) release(a *attempt) {
	if a.timer != nil {
		a.timer.Stop()
	}
	if !a.taken {
		return
	}
	a.taken = false
	r.busy--
	r.vacate(a)
	r.gpus.give(a.gpus)
	a.gpus = nil
}
