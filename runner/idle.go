package runner

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// done reports whether the loop may end. It starts the exit of a runner for which
// there is no work left. The error says what the runner no longer waits for.
func (r *Runner) done(ctx context.Context, now time.Time) (bool, error) {
	if err := r.turns.checkOutage(now); err != nil {
		return true, err
	}
	if n := r.work.live(); n > 0 && !r.leaving.abandonAt.IsZero() && now.After(r.leaving.abandonAt) {
		return true, workflow.Errorf(workflow.CodeUnavailable, "%s", workflow.CountOf(int64(n), "job was killed and does not end", "jobs were killed and do not end")).
			WithHint("check %s for hanging file systems", r.opts.Hostname)
	}
	t := &r.turns
	working := len(r.work.attempts)
	if r.leaving.active() {
		working -= len(r.repairs.waiting)
	}
	if working > 0 || t.reporting != nil || !t.nothingToReport() || r.actions.running || r.actions.waitForDaemon() {
		return false, nil
	}
	if !r.leaving.active() {
		reason := r.reasonToLeave(now)
		if reason == "" {
			return false, nil
		}
		r.leaving.leave(StopDrain, reason, "", 0)
	}
	return !r.actions.startFinal(ctx), nil
}

// reasonToLeave returns why a runner without work need not wait for more, empty if it
// has to wait.
func (r *Runner) reasonToLeave(now time.Time) string {
	t := &r.turns
	if t.answers == 0 || !t.outage.since.IsZero() {
		return ""
	}
	patience := seconds(r.about.WaitForNewJobs)
	if r.opts.IdleTimeout > 0 {
		patience = r.opts.IdleTimeout
	}
	// A runner is idle if it has polled since its last job and got nothing.
	idle := now.Sub(r.active) >= patience && !t.lastWorkRequest.Before(r.active)
	switch {
	case t.latest.Complete && !r.about.IgnoreCompletion:
		return "the workflow is complete"
	case r.opts.Persistent && (t.latest.ClaimableLater || t.latest.HeldJobs > 0 || t.latest.ClaimsHeld != ""):
		return ""
	case t.latest.Complete && idle:
		return "the workflow is complete"
	case !t.latest.Complete && !t.latest.ClaimableLater && !r.opts.Persistent:
		if t.latest.ClaimsHeld != "" {
			return t.latest.ClaimsHeld
		}
		if t.latest.HeldJobs > 0 {
			return "jobs that are held wait for a decision"
		}
		return "none of the open jobs can become work for this runner"
	case idle && t.latest.WaitsForHost != "":
		return "" // the host will have room for it
	case idle && t.latest.ClaimsHeld != "" && t.latest.ClaimableLater && r.opts.NodeType == compute.SchedulerLocal:
		return "" // waiting for the end of the hold costs nothing
	case idle:
		return "no work for " + patience.String()
	}
	return ""
}
