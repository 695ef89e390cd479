package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const (
	// staleQueue is how long a granted job may wait for room before it is
	// given back: it was taken ahead of jobs that turned out to be long.
	staleQueue = 2 * time.Second
	// strayLead is the most that processes get which a job left behind.
	strayLead = 5 * time.Second
)

// loop owns the runner's state until there is nothing left to do.
func (r *Runner) loop(ctx context.Context) error {
	requests, abort := context.WithCancel(context.Background())
	defer func() {
		abort()
		r.requests.Wait()
	}()
	r.active = time.Now()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	done := ctx.Done()
	var spare []any
	for {
		messages := r.box.take(spare)
		for i, m := range messages {
			r.handle(m)
			messages[i] = nil
		}
		spare = messages
		now := time.Now()
		r.checkEnd(now)
		r.startQueued(now)
		r.startRepairs()
		r.stepActions(requests, now)
		if over, err := r.over(requests, now); over {
			return err
		}
		r.takeTurn(requests, now)
		timer.Reset(r.untilNext(now))
		select {
		case <-r.box.ready:
		case <-timer.C:
		case kind := <-r.stopping:
			r.stop(kind)
		case <-done:
			done = nil
			r.stop(StopCancel)
		}
	}
}

// handle takes in one message.
func (r *Runner) handle(message any) {
	switch m := message.(type) {
	case startedMsg:
		r.onStarted(m)
	case exitedMsg:
		r.onExited(m.attempt, m.exit)
	case goneMsg:
		r.onGone(m.attempt, m.left)
	case finishedMsg:
		r.onFinished(m)
	case overdueMsg:
		r.onOverdue(m.attempt)
	case overLimitMsg:
		r.onOverLimit(m)
	case answerMsg:
		r.onAnswer(m)
	case actedMsg:
		r.onActed(m)
	case Event:
		r.emit(m)
	default:
		panic(fmt.Sprintf("runner: unknown message %T", message))
	}
}

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
	case r.leaving.active():
		r.discard(a)
	case g.Recovery != nil:
		r.repair(a, g.Recovery)
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
	if len(r.queue) == 0 || now.After(r.turns.leaseUntil) {
		return // without a valid lease somebody else may have the job
	}
	n := 0
	for _, a := range r.queue {
		if !r.hasRoom(a) {
			break
		}
		r.start(a)
		n++
	}
	r.queue = r.queue[n:]
	if len(r.queue) > 0 && now.Sub(r.queue[0].granted) > staleQueue {
		r.log.Debug("giving back jobs that were taken too early", "jobs", len(r.queue))
		r.giveBackQueue()
	}
}

// hasRoom reports whether a can start now. A job that is larger than the node
// would wait for ever: it may start when it is alone.
func (r *Runner) hasRoom(a *attempt) bool {
	if r.byJob[a.grant.JobID] != nil {
		return false // an attempt that we lost still has processes
	}
	if r.opts.MaxParallelJobs > 0 {
		return r.busy < r.opts.MaxParallelJobs
	}
	return r.busy == 0 || r.free.holds(needs(&a.grant))
}

// start takes room for a and has its process started.
func (r *Runner) start(a *attempt) {
	a.phase = starting
	r.byJob[a.grant.JobID] = a
	a.taken = true
	r.free = r.free.minus(needs(&a.grant))
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
	r.pool.do(func() { r.launch(a, visible) })
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
	r.free = r.free.plus(needs(&a.grant))
	r.gpus.give(a.gpus)
	a.gpus = nil
}

// launch starts the process of an attempt; it runs on the pool.
func (r *Runner) launch(a *attempt, gpus []string) {
	g := &a.grant
	base := LogPath(r.opts.OutputDir, r.opts.WorkflowID, g.JobID, r.about.RunID, g.Attempt, "")
	files := stdioPaths(g.Stdio, base)
	m := startedMsg{attempt: a, files: files, oom: r.oom.kills()}
	m.at = time.Now()
	m.pid, m.err = r.executor.Start(&Command{
		Argv:   []string{r.shell, "-c", shellCommand(g.InvocationScript, g.Command)},
		Env:    r.env.with(g.Env, jobVariables(g, a.key, r.terminationFile(g), gpus)),
		Dir:    r.opts.WorkDir,
		Stdout: files.stdout, Stderr: files.stderr,
	}, func(e Exit) { r.box.put(exitedMsg{a, e}) })
	if m.err == nil && m.pid != 0 {
		r.leftover.started(m.pid, a.key)
	}
	r.box.put(m)
}

func (r *Runner) onStarted(m startedMsg) {
	a := m.attempt
	a.started, a.pid, a.files, a.oomStart = m.at, m.pid, m.files, m.oom
	if m.err != nil {
		r.onSpawnError(a, m.err)
		return
	}
	a.phase = running
	if a.recovery == nil {
		r.summary.Started++
		r.turns.started(m.at)
		r.emitFor(a, Event{Kind: EventStarted})
	}
	if a.pid != 0 {
		a.watch = &watch{attempt: a, key: a.key, pid: a.pid, started: a.started}
		if a.recovery == nil {
			a.watch.limit = r.policy.memoryLimit(&a.grant)
		}
	}
	switch {
	case a.exit != nil:
		r.leaderEnded(a)
	case a.pid != 0:
		r.supervise(a)
	}
}

// supervise watches a running attempt and its limits.
func (r *Runner) supervise(a *attempt) {
	r.keeper.add(a.watch)
	if a.killed != "" {
		r.keeper.endTree(a.watch, a.killSignal, a.killLead)
	}
	after, _ := r.timeLimit(a)
	if after > 0 {
		a.runLimit = after
		a.timer = time.AfterFunc(after-time.Since(a.started), func() { r.box.put(overdueMsg{a}) })
	}
}

// timeLimit returns how long an attempt or a recovery script may run and how
// long it then has to end; 0 for no limit.
func (r *Runner) timeLimit(a *attempt) (after, grace time.Duration) {
	if a.recovery != nil {
		return a.repairTime(), min(r.policy.lead, strayLead)
	}
	return r.policy.runLimit(&a.grant)
}

func (r *Runner) onSpawnError(a *attempt, err error) {
	if !errors.As(err, &a.spawnErr) {
		a.spawnErr = nodeFault(err)
	}
	r.log.Warn("job could not be started", "job_id", a.grant.JobID, "error", err)
	a.phase = finishing
	r.release(a)
	r.finish(a)
}

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
	if a.recovery == nil {
		r.pace.ended(a.exit.At.Sub(a.started))
	}
	a.phase = ending
	r.settle(a)
}

// settle ends what the leader left behind, or goes on to the evidence.
func (r *Runner) settle(a *attempt) {
	if a.watch != nil {
		r.keeper.leaderExited(a.watch)
		if a.killed != "" {
			return // the tree is being ended already
		}
		if a.exit.Remains {
			r.keeper.endTree(a.watch, unix.SIGTERM, min(r.policy.lead, strayLead))
			return
		}
	}
	a.phase = finishing
	r.finish(a)
}

// onGone takes in that the tree of an attempt is gone.
func (r *Runner) onGone(a *attempt, left int) {
	if left > 0 {
		a.note = fmt.Sprintf("%d processes could not be ended", left)
		r.log.Error("processes do not end", "job_id", a.grant.JobID, "processes", left)
	}
	if a.exit == nil { // not even the leader went
		a.exit = &Exit{Signal: int(unix.SIGKILL), At: time.Now()}
		r.release(a)
	}
	a.phase = finishing
	a.swept = true
	r.finish(a)
}

// onOverdue ends an attempt that has used up its run time.
func (r *Runner) onOverdue(a *attempt) {
	if a.phase != running || a.exit != nil {
		return
	}
	_, grace := r.timeLimit(a)
	r.log.Info("run time is over", "job_id", a.grant.JobID, "limit_s", a.runLimit.Seconds())
	r.kill(a, workflow.KilledByTimeout, r.policy.signal, grace)
}

// onOverLimit kills an attempt that uses more memory than it asked for. It
// gets no grace: the node's memory is at stake.
func (r *Runner) onOverLimit(m overLimitMsg) {
	a := m.attempt
	if a.phase != running || a.exit != nil || a.killed != "" {
		return
	}
	r.log.Info("memory limit exceeded", "job_id", a.grant.JobID,
		"memory_bytes", m.memory, "limit_bytes", a.watch.limit)
	r.kill(a, workflow.KilledByMemoryLimit, unix.SIGKILL, 0)
}

// finish looks for processes that the attempt left behind outside of its
// group, and has the evidence gathered.
func (r *Runner) finish(a *attempt) {
	look := a.pid != 0 && !a.swept
	f := findings{
		grant: &a.grant, pid: a.pid, started: a.started, exit: a.exit,
		spawnErr: a.spawnErr, killed: a.killed, note: a.note, files: a.files,
		alone: a.alone, oomStart: a.oomStart, runLimit: a.runLimit,
		dir: r.opts.WorkDir, terminationFile: r.terminationFile(&a.grant),
	}
	if a.watch != nil {
		f.memoryLimit = a.watch.limit
	}
	key, w, wanted := a.key, a.watch, !a.void && a.recovery == nil
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
			m.report = f.report(r.oom, r.log)
		}
		r.box.put(m)
	})
}

func (r *Runner) onFinished(m finishedMsg) {
	a := m.attempt
	if m.strays {
		a.phase = ending
		r.keeper.endTree(a.watch, unix.SIGTERM, min(r.policy.lead, strayLead))
		return
	}
	delete(r.byJob, a.grant.JobID)
	r.leftover.ended(a.key)
	switch {
	case a.recovery != nil:
		r.repaired(a)
	case a.void:
		r.forget(a)
	default:
		a.phase = reported
		r.turns.report(m.report)
		r.secure()
	}
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
