package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
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
	since   time.Time // zero while steps are started
	reason  string
	probeAt time.Time
	delay   time.Duration // grows until a step has been started
	probing bool
}

func (p *launchPause) active() bool { return !p.since.IsZero() }

// told is what the daemon is told of it; nil if there is none.
func (p *launchPause) told() *workflow.LaunchPause {
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
		p.later(now, random)
	}
	return !known
}

// later puts the next question off, for twice as long as the last time.
func (p *launchPause) later(now time.Time, random float64) {
	p.delay = min(max(2*p.delay, firstProbe), lastProbe)
	p.probeAt = now.Add(time.Duration((0.8 + 0.4*random) * float64(p.delay)))
}

// probedMsg is whether Slurm says that the allocation runs.
type probedMsg struct {
	running bool
	err     error
}

// refusedStart returns why Slurm started nothing of a step, and removes its
// output files, which have srun's words alone. It returns nil if the step may have
// been started, if it is the step that is at fault, and if it is to be reported as
// ended by us.
func (f *findings) refusedStart() *slurm.StepRefusal {
	if !f.step || f.spawnErr != nil || f.exit.Signal != 0 || f.exit.Code != slurm.SrunErrorCode || f.killed != "" && f.killed != workflow.KilledByDrain {
		return nil
	}
	refusal, refused := slurm.RefusedStep(tail(f.files.stderr, tailSize))
	if !refused || !refusal.Passes() {
		return nil
	}
	if refusal.Class == slurm.Shortage && !f.shortSince.IsZero() && f.exit.At.Sub(f.shortSince) >= shortagePatience {
		return nil
	}
	_ = f.files.remove() // else the next start puts them aside
	return &refusal
}

// onRefused takes in that Slurm started nothing of a step: the job waits with its
// lease, or is given back if this runner is to leave.
func (r *Runner) onRefused(a *attempt, refusal *slurm.StepRefusal) {
	now := time.Now()
	if !a.started.IsZero() {
		r.turns.notStarted = append(r.turns.notStarted, api.Held{LeaseRef: a.ref(), StartedMS: a.started.UnixMilli()})
		r.summary.Started--
	}
	ref := a.ref()
	r.pool.do(func() { r.spool.notStarting(ref) })
	var shortSince time.Time
	if refusal.Class == slurm.Shortage {
		if shortSince = a.shortSince; shortSince.IsZero() {
			shortSince = now
		}
	}
	*a = attempt{grant: a.grant, key: a.key, granted: now, phase: queued, shortSince: shortSince}
	if r.pause.begin(refusal.Text, now, r.opts.Random()) {
		r.log.Warn("Slurm does not start steps; jobs wait for it", "reason", refusal.Text, "retry_s", r.pause.probeAt.Sub(now).Seconds())
	}
	r.turns.news(now)
	if r.leaving.active() {
		r.discard(a)
		return
	}
	r.queue = slices.Insert(r.queue, 0, a)
}

// probeSlurm asks Slurm for the allocation, when that is due: a controller that
// answers starts steps, too. If it does not after all, the next pause is longer.
func (r *Runner) probeSlurm(ctx context.Context, now time.Time) {
	p := &r.pause
	if !p.active() || p.probing || r.leaving.active() || now.Before(p.probeAt) {
		return
	}
	p.probing = true
	steps := r.steps
	r.requests.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		var m probedMsg
		queue, err := steps.Slurm.Queue(ctx, slurm.QueueQuery{IDs: []slurm.JobID{steps.Job}})
		m.err = err
		for i := range queue.Jobs {
			m.running = m.running || queue.Jobs[i].State == slurm.Running
		}
		r.box.put(m)
	})
}

// onProbed goes on if Slurm says that the allocation runs.
func (r *Runner) onProbed(m probedMsg) {
	p := &r.pause
	now := time.Now()
	p.probing = false
	if m.err != nil || !m.running {
		p.later(now, r.opts.Random())
		why := "the allocation does not run, says squeue"
		if m.err != nil {
			why = m.err.Error()
		}
		r.log.Info("Slurm still does not start steps", "reason", why, "since_s", now.Sub(p.since).Seconds(), "retry_s", p.probeAt.Sub(now).Seconds())
		return
	}
	r.log.Info("Slurm answers again; jobs are started", "after_s", now.Sub(p.since).Seconds())
	p.since, p.reason = time.Time{}, ""
	r.active = now
	r.turns.news(now)
	r.queue = slices.DeleteFunc(r.queue, func(a *attempt) bool {
		a.granted = now
		left := r.schedule.left(now)
		if left == nil || a.grant.RuntimeSeconds <= *left {
			return false
		}
		r.log.Info("job given back: its time does not fit any more", "job_id", a.grant.JobID,
			"reason", fmt.Sprintf("it needs %ds, %ds are left", a.grant.RuntimeSeconds, *left))
		r.discard(a)
		return true
	})
}
