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

// How often Slurm is polled for whether it starts steps again. All runners of a
// cluster poll a controller that is back.
const (
	firstProbe = 5 * time.Second
	lastProbe  = time.Minute
	probeTime  = 15 * time.Second // limits the call, since a controller may hang
)

// shortagePatience is how long a step is retried for which Slurm has no resources,
// although the runner has. After that the attempt counts as one that could not start.
const shortagePatience = 5 * time.Minute

// launchPause is the time in which Slurm starts no steps. The jobs that it did not
// start, and those behind them, keep their leases and wait. Nothing has run, so this
// costs no attempt.
type launchPause struct {
	runner *Runner

	since   time.Time // zero while steps are started
	reason  string
	probeAt time.Time
	delay   time.Duration // grows until a step has been started
	probing bool
}

func (p *launchPause) active() bool { return !p.since.IsZero() }

// status returns the pause for the next turn; nil if there is none.
func (p *launchPause) status() *workflow.LaunchPause {
	if !p.active() {
		return nil
	}
	return &workflow.LaunchPause{Reason: p.reason, SinceMS: p.since.UnixMilli()}
}

// begin records that Slurm rejected a step. It reports whether the pause is new.
func (p *launchPause) begin(reason string, now time.Time, random float64) bool {
	known := p.active()
	p.reason = reason
	if !known {
		p.since = now
		p.scheduleProbe(now, random)
	}
	return !known
}

// scheduleProbe schedules the next probe, after twice the last delay.
func (p *launchPause) scheduleProbe(now time.Time, random float64) {
	p.delay = min(max(2*p.delay, firstProbe), lastProbe)
	p.probeAt = now.Add(time.Duration((0.8 + 0.4*random) * float64(p.delay)))
}

// probedMsg says whether squeue lists the allocation as running.
type probedMsg struct {
	running bool
	err     error
}

// rejectedStart returns why Slurm did not start a step, and removes its output files,
// which contain only srun's messages. It returns nil if the step may have been
// started, if the step itself is invalid, and if it is to be reported as ended by us.
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
	_ = f.files.Remove() // else the next start would rename them
	return &refusal
}

// onRejected is called when Slurm has not started a step. The job waits with its
// lease, or is given back if this runner is leaving.
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

// probe polls Slurm for the allocation when that is due. A controller that answers
// normally starts steps, too. If it does not, the next pause is longer.
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

// onProbed ends the pause if the allocation runs.
func (p *launchPause) onProbed(m probedMsg) {
	now := time.Now()
	p.probing = false
	if m.err != nil || !m.running {
		p.scheduleProbe(now, p.runner.opts.Random())
		why := "squeue does not list the allocation as running"
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
		p.runner.log.Info("job returned: it no longer fits into the remaining time", "job_id", a.grant.JobID,
			"reason", fmt.Sprintf("it needs %ds, %ds are left", a.grant.RuntimeSeconds, *left))
		p.runner.queue.discard(a)
		return true
	})
}
