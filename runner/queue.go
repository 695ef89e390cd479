package runner

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// staleQueue is how long a granted job may wait for room before it is returned. The jobs
// before it then run longer than expected.
const staleQueue = 2 * time.Second

// queue holds the granted jobs that are to be started, in the order of their grants.
type queue struct {
	runner  *Runner
	waiting []*attempt
}

// accept queues a granted job. It ignores a repeated grant.
func (q *queue) accept(g lease.Grant, now time.Time) {
	if q.runner.work.attempts[g.LeaseRef] != nil || q.runner.turns.isClosed[g.LeaseRef] {
		return
	}
	a := &attempt{
		grant: g, granted: now, phase: queued,
		key: fmt.Sprintf("%s.%d.%d.%d", q.runner.key, g.JobID, g.Attempt, g.Fence),
	}
	q.runner.work.attempts[g.LeaseRef] = a
	q.runner.active = now
	q.runner.emitFor(a, Event{Kind: EventGranted})
	switch {
	case g.Recovery != nil:
		q.runner.repairs.queueScript(a, g.Recovery)
	case q.runner.leaving.active():
		q.discard(a)
	default:
		q.waiting = append(q.waiting, a)
	}
}

// discard returns a job that was not started.
func (q *queue) discard(a *attempt) {
	a.phase = discarding
	q.runner.turns.giveBack = append(q.runner.turns.giveBack, a.ref())
}

func (q *queue) giveBackAll() {
	for _, a := range q.waiting {
		q.discard(a)
	}
	q.waiting = nil
}

// startDue starts granted jobs in the order of their grants while there is room. It
// returns those that have waited too long.
func (q *queue) startDue(now time.Time) {
	if len(q.waiting) == 0 || q.runner.pause.active() || now.After(q.runner.turns.leaseUntil) {
		return // without a valid lease another runner may have the job
	}
	n := 0
	for _, a := range q.waiting {
		hosts := q.runner.room.roomFor(a)
		if hosts == nil {
			break
		}
		q.runner.work.start(a, hosts)
		n++
	}
	q.waiting = q.waiting[n:]
	if len(q.waiting) > 0 && now.Sub(q.waiting[0].granted) > staleQueue {
		q.runner.log.Debug("returning jobs that were taken ahead too early", "jobs", len(q.waiting))
		q.giveBackAll()
		q.runner.pace = pace{} // take no jobs ahead until short ones have been seen again
	}
}

// roomFor returns the hosts on which a can start now, nil if it must wait. A job that
// is larger than the node starts when nothing else runs; else it would wait forever.
func (m *room) roomFor(a *attempt) []*host {
	if m.runner.work.byJob[a.grant.JobID] != nil {
		return nil // an attempt whose lease was lost still has processes
	}
	if m.runner.opts.MaxParallelJobs > 0 && m.busy >= m.runner.opts.MaxParallelJobs {
		return nil
	}
	hosts := m.placeFor(&a.grant, m.hosts)
	if hosts == nil && m.busy == 0 {
		return m.hosts[:1]
	}
	return hosts
}

// start reserves room for a and has its process started.
func (w *work) start(a *attempt, hosts []*host) {
	a.phase = starting
	w.byJob[a.grant.JobID] = a
	a.taken = true
	w.runner.room.reserve(a, hosts)
	if a.alone = w.runner.room.busy == 0; w.runner.room.busy == 1 {
		for _, other := range w.byJob {
			other.alone = false
		}
	}
	w.runner.room.busy++
	visible, shared := w.runner.room.gpus.take(a.grant.GPUs)
	if shared {
		w.runner.log.Warn("more GPUs are needed than there are; jobs share them", "job_id", a.grant.JobID)
	} else {
		a.gpus = visible
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.name
	}
	timeLimit := w.stepTime(time.Now())
	w.runner.pool.do(func() { w.launch(a, visible, names, timeLimit) })
}

// release undoes the reservations of start.
func (w *work) release(a *attempt) {
	if a.timer != nil {
		a.timer.Stop()
	}
	if !a.taken {
		return
	}
	a.taken = false
	w.runner.room.busy--
	w.runner.room.vacate(a)
	w.runner.room.gpus.give(a.gpus)
	a.gpus = nil
}
