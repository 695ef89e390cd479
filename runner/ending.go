package runner

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// strayLead is the most that processes get which a job left behind.
const strayLead = 5 * time.Second

// onExited takes in the end of an attempt's leader.
func (r *Runner) onExited(a *attempt, e Exit) {
	if a.exit != nil {
		return // it was given up before
	}
	a.exit = &e
	if a.phase != starting { // else onStarted comes to it
		r.leaderEnded(a)
	}
}

func (r *Runner) leaderEnded(a *attempt) {
	r.release(a)
	r.active = a.exit.At
	if a.recovery == nil && (r.steps == nil || a.exit.Code != slurm.SrunErrorCode) {
		r.pace.ended(a.exit.At.Sub(a.started))
	}
	a.phase = ending
	r.settle(a)
}

// settle ends what the leader left behind, or goes on to the evidence.
func (r *Runner) settle(a *attempt) {
	if a.watch != nil {
		r.keeper.leaderExited(a.watch)
		switch {
		case a.killed != "":
			r.keeper.endTree(a.watch, a.killSignal, a.killLead) // it may be under way
			return
		case a.exit.Remains:
			r.endStrays(a)
			return
		}
	}
	a.phase = finishing
	r.finish(a)
}

// endStrays ends what an attempt left behind.
func (r *Runner) endStrays(a *attempt) {
	if a.killed != "" {
		r.keeper.endTree(a.watch, unix.SIGKILL, 0) // they had their grace
		return
	}
	r.keeper.endTree(a.watch, unix.SIGTERM, min(r.policy.lead, strayLead))
}

// onGone takes in that the tree of an attempt is gone.
func (r *Runner) onGone(a *attempt, left int) {
	if left > 0 {
		a.note = fmt.Sprintf("%d processes could not be ended", left)
		a.stuck = true
		r.log.Error("processes do not end", "job_id", a.grant.JobID, "processes", left)
	}
	if a.exit == nil { // not even the leader went
		a.exit = &Exit{Signal: int(unix.SIGKILL), At: time.Now()}
		r.release(a)
	}
	a.phase = finishing
	r.finish(a)
}

// finish looks for processes that the attempt left behind outside of its
// group, and has the evidence gathered.
func (r *Runner) finish(a *attempt) {
	look := a.pid != 0 && !a.stuck
	f := findings{
		grant: &a.grant, pid: a.pid, started: a.started, exit: a.exit,
		spawnErr: a.spawnErr, killed: a.killed, note: a.note, files: a.files,
		key: a.key, alone: a.alone, runLimit: a.runLimit, step: r.steps != nil && a.recovery == nil, script: a.recovery != nil, shortSince: a.shortSince,
		dir: r.opts.WorkDir, terminationFile: r.terminationFile(&a.grant), detector: r.detector,
	}
	if a.watch != nil {
		f.memoryLimit = a.watch.limit
	}
	key, w, wanted := a.key, a.watch, !a.void
	r.pool.do(func() {
		m := finishedMsg{attempt: a}
		if look && strayOf(key) {
			m.strays = true
			r.box.put(m)
			return
		}
		if w != nil {
			f.usage = r.keeper.remove(w)
		}
		if wanted {
			if m.refused = f.refusedStart(); m.refused == nil {
				m.report = f.report(r.oom, r.log)
			}
		}
		r.oom.Remove(key)
		r.box.put(m)
	})
}

func (r *Runner) onFinished(m finishedMsg) {
	a := m.attempt
	if m.strays {
		a.phase = ending
		r.endStrays(a)
		return
	}
	delete(r.byJob, a.grant.JobID)
	if a.endTimer != nil {
		a.endTimer.Stop()
	}
	if !a.stuck {
		r.leftover.ended(a.key)
	}
	switch {
	case a.recovery != nil:
		r.repaired(a, &m.report)
	case a.void:
		r.forget(a)
	case m.refused != nil:
		r.onRefused(a, m.refused)
	case !r.holdBack(a, &m.report):
		r.deliver(a, m.report)
	}
}

// deliver has a report sent.
func (r *Runner) deliver(a *attempt, report api.Report) {
	if a.void {
		r.forget(a)
		return
	}
	a.phase = reported
	r.turns.report(report)
	r.secure()
	r.wantAccount(a, &report)
}

// secure puts reports on file that cannot be sent now.
func (r *Runner) secure() {
	if t := &r.turns; !t.outage.since.IsZero() {
		first, reports := t.answered, t.outbox[:len(t.outbox):len(t.outbox)]
		r.pool.do(func() { r.spool.before(first, reports, true) })
	}
}

// forget drops an attempt: its lease is over.
func (r *Runner) forget(a *attempt) {
	delete(r.attempts, a.ref())
	r.turns.close(a.ref())
}

// cancelOne ends a job that the daemon wants ended, and reports it; one that was
// not started is given back.
func (r *Runner) cancelOne(ref api.LeaseRef) {
	a := r.attempts[ref]
	if a == nil || a.void {
		return
	}
	switch a.phase {
	case queued:
		r.queue = slices.DeleteFunc(r.queue, func(other *attempt) bool { return other == a })
		r.discard(a)
	case starting, running:
		r.kill(a, workflow.KilledBySibling, r.policy.signal, r.policy.lead)
	}
}

// void takes in that a lease is somebody else's: its processes are ended and
// nothing is reported.
func (r *Runner) void(ref api.LeaseRef) {
	a := r.attempts[ref]
	if a == nil || a.void {
		return
	}
	r.log.Warn("lease lost", "job_id", ref.JobID, "attempt_id", ref.Attempt)
	r.emitFor(a, Event{Kind: EventVoided})
	switch a.phase {
	case queued:
		r.queue = slices.DeleteFunc(r.queue, func(other *attempt) bool { return other == a })
		r.forget(a)
	case repairing:
		r.repairs.waiting = slices.DeleteFunc(r.repairs.waiting, func(other *attempt) bool { return other == a })
		r.forget(a)
	case starting, running, ending, finishing:
		a.void = true
		r.kill(a, workflow.KilledByFence, r.policy.signal, r.policy.lead)
	case reported, discarding: // the answer to what we said settles it
	}
}
