package runner

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// StopKind says how urgently a runner is to stop.
type StopKind int

// The ways to stop; a later, more urgent one overtakes an earlier one.
const (
	// StopDrain: take nothing new, let running jobs end, leave.
	StopDrain StopKind = iota + 1
	// StopCancel: signal the jobs, kill what is left after the lead time,
	// report, give everything back, leave. Other runners may take the jobs.
	StopCancel
	// StopHurry: kill at once.
	StopHurry
	// StopSlurm is StopCancel for a signal of Slurm, which may be about to kill
	// what is left: in KillWait, unless the end that is known is near.
	StopSlurm
)

// Stop asks the runner to stop; Run returns when it has.
func (r *Runner) Stop(kind StopKind) {
	select {
	case r.stopping <- kind:
	default: // as many requests as fit are waiting already
	}
}

// errAbandoned is how Run ends after Abandon.
var errAbandoned = errors.New("the runner was abandoned")

// Abandon ends Run at once, as if the runner's process were killed: nothing is
// ended, reported or written any more. It is for simulations.
func (r *Runner) Abandon() { r.abandon.Do(func() { close(r.abandoned) }) }

// leaving says whether and why the runner is on its way out.
type leaving struct {
	kind   StopKind // 0 while it is not
	reason string
	since  time.Time
	// giveUp is when processes that do not end, and file systems that do not
	// answer, are no longer waited for; zero while running jobs may end by
	// themselves.
	giveUp time.Time
}

// endPatience is how long the ends of killed jobs are waited for, beyond what
// the keeper needs: their files may be on a slow file system.
const endPatience = 30 * time.Second

func (l leaving) active() bool { return l.kind != 0 }

// leave starts or hastens the way out; killed says whose wish the end of the
// running jobs is.
func (r *Runner) leave(kind StopKind, reason string, killed workflow.KillReason, lead time.Duration) {
	if kind <= r.leaving.kind {
		return
	}
	if !r.leaving.active() {
		r.leaving.reason = reason
		r.leaving.since = time.Now()
		r.emit(Event{Kind: EventStopping, Message: reason})
		r.log.Info("stopping", "reason", reason)
	}
	r.leaving.kind = kind
	r.giveBackQueue()
	if kind >= StopCancel {
		r.leaving.giveUp = time.Now().Add(lead + stepKillPatience + killPatience + endPatience)
		if r.actions.running {
			r.actions.cancel()
		}
		for _, a := range r.attempts {
			r.kill(a, killed, r.policy.signal, lead)
		}
	}
}

// stop carries out a request to stop.
func (r *Runner) stop(kind StopKind) {
	switch kind {
	case StopDrain:
		r.leave(kind, "told to drain", "", 0)
	case StopCancel:
		r.leave(kind, "told to stop", workflow.KilledByDrain, r.policy.lead)
	case StopHurry:
		r.leave(kind, "told to stop at once", workflow.KilledByDrain, 0)
	case StopSlurm:
		r.yield(time.Now())
	}
}

// yield leaves because Slurm says so. The signal may be the warning before the
// end of the allocation, which somebody has asked for, or the last word before
// SIGKILL: then a third of the time is kept for the reports, and for asking Slurm
// why it does that.
func (r *Runner) yield(now time.Time) {
	lead, announced := r.schedule.warned(now, r.policy.lead)
	if !announced {
		lead = r.policy.lead
		if wait := r.opts.KillWait; wait > 0 {
			lead = min(lead, wait*2/3)
			if r.opts.Steps != nil { // there is a Slurm to ask
				r.words.until = now.Add(wait * 5 / 6)
				if end := r.schedule.end; !end.IsZero() {
					r.words.left = end.Sub(now)
				}
				for i := range r.words.waiting {
					r.words.yielded(&r.words.waiting[i].report.Evidence, now)
				}
			}
		}
	}
	if r.leaving.kind >= StopCancel { // there is less time than we thought
		for _, a := range r.attempts {
			r.kill(a, workflow.KilledByDrain, r.policy.signal, lead)
		}
		return
	}
	r.leave(StopCancel, "Slurm is about to take the node", workflow.KilledByDrain, lead)
}

// obey carries out an order of the daemon.
func (r *Runner) obey(order api.Order) {
	switch order {
	case api.OrderDrain:
		r.leave(StopDrain, "the daemon ordered to drain", "", 0)
	case api.OrderStop:
		r.leave(StopCancel, "the daemon ordered to stop", workflow.KilledByDrain, r.policy.lead)
	case api.OrderCancel:
		r.leave(StopCancel, "the workflow was canceled", workflow.KilledByCancel, r.policy.lead)
	default:
		r.log.Warn("unknown order", "order", order)
	}
}

// checkEnd drains when the runner's time is up.
func (r *Runner) checkEnd(now time.Time) {
	if !r.schedule.end.IsZero() && !now.Before(r.schedule.drainAt) {
		r.leave(StopCancel, "the time limit is near", workflow.KilledByDrain, r.schedule.lead)
	}
}

// kill ends the processes of an attempt: the signal, and SIGKILL after lead.
// The first reason is kept.
func (r *Runner) kill(a *attempt, why workflow.KillReason, sig unix.Signal, lead time.Duration) {
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
	if a.phase != starting { // else supervise comes to it
		r.end(a)
	}
}

// end ends the processes of an attempt as it was decided.
func (r *Runner) end(a *attempt) {
	if r.steps != nil && a.recovery == nil && a.exit == nil {
		r.endStep(a, a.killSignal, a.killLead)
		return
	}
	switch {
	case a.watch != nil:
		r.keeper.endTree(a.watch, a.killSignal, a.killLead)
	case r.ender != nil:
		ender, key := r.ender, a.key
		ender.Signal(key, a.killSignal)
		time.AfterFunc(a.killLead, func() { ender.Signal(key, unix.SIGKILL) })
	}
}
