package runner

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// StopKind says how urgently a runner is to stop.
type StopKind int

// The ways to stop, in the order of urgency; a more urgent one overrides the others.
const (
	// StopDrain takes no new jobs, waits for running ones, and leaves.
	StopDrain StopKind = iota + 1
	// StopCancel signals the jobs, kills what is left after the lead time, reports,
	// returns the rest, and leaves. Other runners may take the jobs.
	StopCancel
	// StopKill is StopCancel without the lead time.
	StopKill
	// StopSlurm is StopCancel for a signal from Slurm, which may kill what is left after
	// KillWait, unless the known end is close.
	StopSlurm
)

// Stop asks the runner to stop. Run returns when it has.
func (r *Runner) Stop(kind StopKind) {
	select {
	case r.stopping <- kind:
	default: // enough requests are waiting
	}
}

// errAbandoned is the error of Run after Abandon.
var errAbandoned = errors.New("the runner was abandoned")

// Abandon ends Run at once, as if the runner's process were killed: no process is ended,
// and nothing is reported or written. It is for simulations.
func (r *Runner) Abandon() { r.abandon.Do(func() { close(r.abandoned) }) }

// leaving says whether and why the runner is leaving.
type leaving struct {
	runner *Runner

	kind   StopKind // 0 while it is not
	reason string
	since  time.Time
	// abandonAt is when the runner stops waiting for processes that do not end and file
	// systems that hang; zero while running jobs may end by themselves.
	abandonAt time.Time
}

// endPatience is how long to wait for the ends of killed jobs beyond what the keeper
// needs, since their files may be on a slow file system.
const endPatience = 30 * time.Second

func (l *leaving) active() bool { return l.kind != 0 }

// leave starts leaving, or makes it more urgent. killed is the reason that is reported
// for running jobs.
func (l *leaving) leave(kind StopKind, reason string, killed workflow.KillReason, lead time.Duration) {
	if kind <= l.kind {
		return
	}
	if !l.active() {
		l.reason = reason
		l.since = time.Now()
		l.runner.emit(Event{Kind: EventStopping, Message: reason})
		l.runner.log.Info("stopping", "reason", reason)
	}
	l.kind = kind
	l.runner.queue.giveBackAll()
	if kind >= StopCancel {
		l.abandonAt = time.Now().Add(lead + stepKillPatience + process.KillPatience + endPatience)
		if l.runner.actions.running {
			l.runner.actions.cancel()
		}
		for _, a := range l.runner.work.attempts {
			l.runner.work.kill(a, killed, l.runner.policy.signal, lead)
		}
	}
}

// stop carries out a request to stop.
func (l *leaving) stop(kind StopKind) {
	switch kind {
	case StopDrain:
		l.leave(kind, "told to drain", "", 0)
	case StopCancel:
		l.leave(kind, "told to stop", workflow.KilledByDrain, l.runner.policy.lead)
	case StopKill:
		l.leave(kind, "told to stop at once", workflow.KilledByDrain, 0)
	case StopSlurm:
		l.stopForSlurm(time.Now())
	}
}

// stopForSlurm leaves because of a signal from Slurm. It may be the warning before the
// end of the allocation that sbatch --signal requests, or the last signal before
// SIGKILL: then a third of the time is reserved for reports, and for polling Slurm for
// the reason.
func (l *leaving) stopForSlurm(now time.Time) {
	lead, announced := l.runner.schedule.warned(now, l.runner.policy.lead)
	if !announced {
		lead = l.runner.policy.lead
		if wait := l.runner.opts.KillWait; wait > 0 {
			lead = min(lead, wait*2/3)
			if l.runner.opts.Steps != nil { // Slurm can be polled
				l.runner.slurmReasons.until = now.Add(wait * 5 / 6)
				if end := l.runner.schedule.end; !end.IsZero() {
					l.runner.slurmReasons.timeLeft = end.Sub(now)
				}
				for i := range l.runner.slurmReasons.waiting {
					l.runner.slurmReasons.markDrained(&l.runner.slurmReasons.waiting[i].report.Evidence, now)
				}
			}
		}
	}
	if l.kind >= StopCancel { // there is less time than we thought
		for _, a := range l.runner.work.attempts {
			l.runner.work.kill(a, workflow.KilledByDrain, l.runner.policy.signal, lead)
		}
		return
	}
	l.leave(StopCancel, "Slurm is about to take the node", workflow.KilledByDrain, lead)
}

// onOrder carries out an order of the daemon.
func (l *leaving) onOrder(order lease.Order) {
	switch order {
	case lease.OrderDrain:
		l.leave(StopDrain, "the daemon ordered to drain", "", 0)
	case lease.OrderStop:
		l.leave(StopCancel, "the daemon ordered to stop", workflow.KilledByDrain, l.runner.policy.lead)
	case lease.OrderCancel:
		l.leave(StopCancel, "the workflow was canceled", workflow.KilledByCancel, l.runner.policy.lead)
	default:
		l.runner.log.Warn("unknown order", "order", order)
	}
}

// checkTime drains when the runner's time is up.
func (l *leaving) checkTime(now time.Time) {
	if !l.runner.schedule.end.IsZero() && !now.Before(l.runner.schedule.drainAt) {
		l.leave(StopCancel, "the time limit is near", workflow.KilledByDrain, l.runner.schedule.lead)
	}
}

// kill sends the processes of an attempt the signal, and SIGKILL after lead. The first
// reason is kept.
func (w *work) kill(a *attempt, why workflow.KillReason, sig unix.Signal, lead time.Duration) {
	switch a.phase {
	case starting, running:
		if a.killed == "" && a.exit == nil {
			a.killed = why
		}
	case ending: // what is left of the tree; the attempt ended by itself
	default:
		return
	}
	a.killLead, a.killSignal = lead, sig
	if a.phase != starting { // else supervise calls it
		w.end(a)
	}
}

// end ends the processes of an attempt as kill has set.
func (w *work) end(a *attempt) {
	if w.runner.steps != nil && a.recovery == nil && a.exit == nil {
		w.endStep(a, a.killSignal, a.killLead)
		return
	}
	switch {
	case a.watch != nil:
		w.runner.keeper.EndTree(a.watch, a.killSignal, a.killLead)
	case w.runner.ender != nil:
		ender, key := w.runner.ender, a.key
		ender.Signal(key, a.killSignal)
		time.AfterFunc(a.killLead, func() { ender.Signal(key, unix.SIGKILL) })
	}
}
