package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// How often Slurm is asked whether it starts steps again. A controller that comes
// back is met by all runners of the cluster at once.
const (
	firstProbe = 5 * time.Second
	lastProbe  = time.Minute
	probeTime  = 15 * time.Second // a controller that hangs
)

// shortagePatience is how long a step is tried again for which Slurm finds no room,
// though the runner counts that there is. After that it is an attempt that could not
// be started.
const shortagePatience = 5 * time.Minute

// launchPause is the time in which Slurm starts no steps. The jobs that it
// refused to start, and those behind them, keep their leases and wait: nothing has
// run, so it was no attempt.
type launchPause struct {
	runner *Runner

	since   time.Time // zero while steps are started
	reason  string
	probeAt time.Time
	delay   time.Duration // grows until a step has been started
	probing bool
}

func (p *launchPause) active() bool { return !p.since.IsZero() }

// status is what the daemon is told of it; nil if there is none.
func (p *launchPause) status() *workflow.LaunchPause {
	if !p.active() {
		return nil
	}
	return &workflow.LaunchPause{Reason: p.reason, SinceMS: p.since.UnixMilli()}
}

// begin notes that Slurm refused a step; false if that was known.
func (p *launchPause) begin(reason string, now time.Time, random float64) bool {
	known := p.active()
	p.reason = reason
	if !known {
		p.since = now
		p.scheduleProbe(now, random)
	}
	return !known
}

// scheduleProbe puts the next question off, for twice as long as the last time.
func (p *launchPause) scheduleProbe(now time.Time, random float64) {
	p.delay = min(max(2*p.delay, firstProbe), lastProbe)
	p.probeAt = now.Add(time.Duration((0.8 + 0.4*random) * float64(p.delay)))
}

// probedMsg is whether Slurm says that the allocation runs.
type probedMsg struct {
	running bool
	err     error
}

// rejectedStart returns why Slurm started nothing of a step, and removes its
// output files, which have srun's words alone. It returns nil if the step may have
// been started, if it is the step that is at fault, and if it is to be reported as
// ended by us.
func (f *findings) rejectedStart() *slurm.StepRefusal {
	if !f.step || f.spawnErr != nil || f.exit.Signal != 0 || f.exit.Code != slurm.SrunErrorCode || f.killed != "" && f.killed != workflow.KilledByDrain {
		return nil
	}
	refusal, refused := slurm.RefusedStep(output.Tail(f.files.Stderr, output.TailSize))
	if !refused || !refusal.Passes() {
		return nil
	}
	if refusal.Class == slurm.Shortage && !f.shortSince.IsZero() && f.exit.At.Sub(f.shortSince) >= shortagePatience {
		return nil
	}
	_ = f.files.Remove() // else the next start puts them aside
	return &refusal
}

// onRejected takes in that Slurm started nothing of a step: the job waits with its
// lease, or is given back if this runner is to leave.
func (p *launchPause) onRejected(a *attempt, refusal *slurm.StepRefusal) {
	now := time.Now()
	if !a.started.IsZero() {
		p.runner.turns.notStarted = append(p.runner.turns.notStarted, lease.Held{LeaseRef: a.ref(), StartedMS: a.started.UnixMilli()})
		p.runner.summary.Started--
	}
	ref := a.ref()
	p.runner.pool.do(func() { p.runner.spool.recordNotStarted(ref) })
	var shortSince time.Time
	if refusal.Class == slurm.Shortage {
		if shortSince = a.shortSince; shortSince.IsZero() {
			shortSince = now
		}
	}
	*a = attempt{grant: a.grant, key: a.key, granted: now, phase: queued, shortSince: shortSince}
	if p.begin(refusal.Text, now, p.runner.opts.Random()) {
		p.runner.log.Warn("Slurm does not start steps; jobs wait for it", "reason", refusal.Text, "retry_s", p.probeAt.Sub(now).Seconds())
	}
	p.runner.turns.noteChange(now)
	if p.runner.leaving.active() {
		p.runner.queue.discard(a)
		return
	}
	p.runner.queue.waiting = slices.Insert(p.runner.queue.waiting, 0, a)
}

// probe asks Slurm for the allocation, when that is due: a controller that
// answers starts steps, too. If it does not after all, the next pause is longer.
func (p *launchPause) probe(ctx context.Context, now time.Time) {
	if !p.active() || p.probing || p.runner.leaving.active() || now.Before(p.probeAt) {
		return
	}
	p.probing = true
	steps := p.runner.steps
	p.runner.requests.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		var m probedMsg
		queue, err := steps.Slurm.Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{steps.Job}})
		m.err = err
		for i := range queue.Jobs {
			m.running = m.running || queue.Jobs[i].State == slurm.Running
		}
		p.runner.box.put(m)
	})
}

// onProbed goes on if Slurm says that the allocation runs.
func (p *launchPause) onProbed(m probedMsg) {
	now := time.Now()
	p.probing = false
	if m.err != nil || !m.running {
		p.scheduleProbe(now, p.runner.opts.Random())
		why := "the allocation does not run, says squeue"
		if m.err != nil {
			why = m.err.Error()
		}
		p.runner.log.Info("Slurm still does not start steps", "reason", why, "since_s", now.Sub(p.since).Seconds(), "retry_s", p.probeAt.Sub(now).Seconds())
		return
	}
	p.runner.log.Info("Slurm answers again; jobs are started", "after_s", now.Sub(p.since).Seconds())
	p.since, p.reason = time.Time{}, ""
	p.runner.active = now
	p.runner.turns.noteChange(now)
	p.runner.queue.waiting = slices.DeleteFunc(p.runner.queue.waiting, func(a *attempt) bool {
		a.granted = now
		left := p.runner.schedule.left(now)
		if left == nil || a.grant.RuntimeSeconds <= *left {
			return false
		}
		p.runner.log.Info("job given back: its time does not fit any more", "job_id", a.grant.JobID,
			"reason", fmt.Sprintf("it needs %ds, %ds are left", a.grant.RuntimeSeconds, *left))
		p.runner.queue.discard(a)
		return true
	})
}
