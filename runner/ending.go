package runner

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// strayLead is the longest grace time for processes that a job left behind.
const strayLead = 5 * time.Second

// onExited records the end of an attempt's leader.
func (w *work) onExited(a *attempt, e process.Exit) {
	if a.exit != nil {
		return // onGone was faster
	}
	a.exit = &e
	if a.phase != starting { // else onStarted calls it
		w.leaderEnded(a)
	}
}

func (w *work) leaderEnded(a *attempt) {
	w.release(a)
	w.runner.active = a.exit.At
	if a.recovery == nil && (w.runner.steps == nil || a.exit.Code != slurm.SrunErrorCode) {
		w.runner.pace.ended(a.exit.At.Sub(a.started))
	}
	a.phase = ending
	w.endLeftovers(a)
}

// endLeftovers ends processes that the leader left behind, or starts to gather evidence.
func (w *work) endLeftovers(a *attempt) {
	if a.watch != nil {
		w.runner.keeper.LeaderExited(a.watch)
		switch {
		case a.killed != "":
			w.runner.keeper.EndTree(a.watch, a.killSignal, a.killLead) // may repeat an earlier call
			return
		case a.exit.Remains:
			w.endStrays(a)
			return
		}
	}
	a.phase = finishing
	w.finish(a)
}

// endStrays ends the processes that an attempt left behind.
func (w *work) endStrays(a *attempt) {
	if a.killed != "" {
		w.runner.keeper.EndTree(a.watch, unix.SIGKILL, 0) // they have had their grace
		return
	}
	w.runner.keeper.EndTree(a.watch, unix.SIGTERM, min(w.runner.policy.lead, strayLead))
}

// onGone is called when the process tree of an attempt has ended, except for left
// processes.
func (w *work) onGone(a *attempt, left int) {
	if left > 0 {
		a.note = fmt.Sprintf("%d processes could not be ended", left)
		a.stuck = true
		w.runner.log.Error("processes could not be ended", "job_id", a.grant.JobID, "processes", left)
	}
	if a.exit == nil { // the leader is one of them
		a.exit = &process.Exit{Signal: int(unix.SIGKILL), At: time.Now()}
		w.release(a)
	}
	a.phase = finishing
	w.finish(a)
}

// finish checks for processes that the attempt left outside of its process group, and
// has the evidence gathered.
func (w *work) finish(a *attempt) {
	checkStrays := a.pid != 0 && !a.stuck
	f := findings{
		grant: &a.grant, pid: a.pid, started: a.started, exit: a.exit,
		spawnErr: a.spawnErr, killed: a.killed, note: a.note, files: a.files,
		key: a.key, alone: a.alone, runLimit: a.runLimit, step: w.runner.steps != nil && a.recovery == nil, script: a.recovery != nil, shortSince: a.shortSince,
		dir: w.runner.opts.WorkDir, terminationFile: w.terminationFile(&a.grant), detector: w.runner.detector,
	}
	if a.watch != nil {
		f.memoryLimit = a.watch.Limit
	}
	key, watch, wanted := a.key, a.watch, !a.void
	w.runner.pool.do(func() {
		m := finishedMsg{attempt: a}
		if checkStrays && process.StrayOf(key) {
			m.strays = true
			w.runner.box.put(m)
			return
		}
		if watch != nil {
			f.usage = w.runner.keeper.Remove(watch)
		}
		if wanted {
			if m.refused = f.rejectedStart(); m.refused == nil {
				m.report = f.report(w.runner.oom, w.runner.log)
			}
		}
		w.runner.oom.Remove(key)
		w.runner.box.put(m)
	})
}

func (w *work) onFinished(m finishedMsg) {
	a := m.attempt
	if m.strays {
		a.phase = ending
		w.endStrays(a)
		return
	}
	delete(w.byJob, a.grant.JobID)
	if a.endTimer != nil {
		a.endTimer.Stop()
	}
	if !a.stuck {
		w.runner.leftover.Ended(a.key)
	}
	switch {
	case a.recovery != nil:
		w.runner.repairs.onScriptEnded(a, &m.report)
	case a.void:
		w.forget(a)
	case m.refused != nil:
		w.runner.pause.onRejected(a, m.refused)
	case !w.runner.slurmReasons.holdReport(a, &m.report):
		w.deliver(a, m.report)
	}
}

// deliver queues a report for the next turn.
func (w *work) deliver(a *attempt, report lease.Report) {
	if a.void {
		w.forget(a)
		return
	}
	a.phase = reported
	w.runner.turns.report(report)
	w.runner.turns.spoolUnsent()
	w.runner.accounts.add(a, &report)
}

// spoolUnsent writes the outbox to the spool while the daemon does not answer.
func (t *turns) spoolUnsent() {
	if !t.outage.since.IsZero() {
		first, reports := t.answered, t.outbox[:len(t.outbox):len(t.outbox)]
		t.runner.pool.do(func() { t.runner.spool.persist(first, reports, true) })
	}
}

// forget drops an attempt whose lease has ended.
func (w *work) forget(a *attempt) {
	delete(w.attempts, a.ref())
	w.runner.turns.close(a.ref())
}

// cancelOne ends a job on the daemon's order, and reports it. A job that was not
// started is given back.
func (w *work) cancelOne(ref lease.LeaseRef) {
	a := w.attempts[ref]
	if a == nil || a.void {
		return
	}
	switch a.phase {
	case queued:
		w.runner.queue.waiting = slices.DeleteFunc(w.runner.queue.waiting, func(other *attempt) bool { return other == a })
		w.runner.queue.discard(a)
	case starting, running:
		w.kill(a, workflow.KilledBySibling, w.runner.policy.signal, w.runner.policy.lead)
	}
}

// void ends the processes of a lease that the runner has lost. Nothing is reported.
func (w *work) void(ref lease.LeaseRef) {
	a := w.attempts[ref]
	if a == nil || a.void {
		return
	}
	w.runner.log.Warn("lease lost", "job_id", ref.JobID, "attempt_id", ref.Attempt)
	w.runner.emitFor(a, Event{Kind: EventVoided})
	switch a.phase {
	case queued:
		w.runner.queue.waiting = slices.DeleteFunc(w.runner.queue.waiting, func(other *attempt) bool { return other == a })
		w.forget(a)
	case repairing:
		w.runner.repairs.waiting = slices.DeleteFunc(w.runner.repairs.waiting, func(other *attempt) bool { return other == a })
		w.forget(a)
	case starting, running, ending, finishing:
		a.void = true
		w.kill(a, workflow.KilledByFence, w.runner.policy.signal, w.runner.policy.lead)
	case reported, discarding: // the answer to the report settles it
	}
}
