package runner

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/steps"
)

// stepTime returns the time limit of a step that starts now, in whole minutes as Slurm
// has it; 0 for none. The runner ends steps itself, so that the limit is a safeguard and
// may be after the end of the allocation. If srun is to send a signal before the limit,
// it must not be.
func (w *work) stepTime(now time.Time) time.Duration {
	if w.runner.steps == nil || w.runner.schedule.end.IsZero() {
		return 0
	}
	left := w.runner.schedule.end.Sub(now)
	if w.runner.steps.HasSignalBeforeLimit() {
		return (left - w.runner.schedule.headroom()).Truncate(time.Minute)
	}
	return (left + time.Minute - 1).Truncate(time.Minute)
}

// envForHost replaces the API's address in the environment of a step that starts on
// another node, where the address of the runner's node does not work.
func (w *work) envForHost(env, hosts []string) []string {
	if len(hosts) == 0 || len(w.runner.opts.Nodes) == 0 || hosts[0] == w.runner.opts.Nodes[0] {
		return env
	}
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, envAPIURL+"=") })
	if w.runner.opts.APIURLOn != nil {
		if url := w.runner.opts.APIURLOn(hosts[0]); url != "" {
			env = append(env, envAPIURL+"="+url)
		}
	}
	return env
}

// stepKillPatience is how long srun may take to kill the tasks of its step.
const stepKillPatience = 10 * time.Second

// endStep ends a step. The signal goes through Slurm, since srun kills the processes of
// its step on most signals. After lead srun is signaled.
func (w *work) endStep(a *attempt, sig unix.Signal, lead time.Duration) {
	if sig == unix.SIGKILL || lead <= 0 {
		w.runner.keeper.EndTree(a.watch, unix.SIGTERM, stepKillPatience)
		return
	}
	if !a.signaled {
		a.signaled = true
		w.runner.steps.SignalLater(sig, steps.Name(w.runner.opts.WorkflowID, w.runner.about.RunID, &a.grant))
	}
	if a.endTimer != nil {
		a.endTimer.Stop()
	}
	a.endTimer = time.AfterFunc(lead, func() { w.runner.box.put(stepOverdueMsg{a}) })
}

// stepOverdueMsg says that the grace of a step is over.
type stepOverdueMsg struct{ attempt *attempt }

func (w *work) onStepOverdue(a *attempt) {
	if a.phase == running && a.exit == nil && a.watch != nil {
		w.runner.keeper.EndTree(a.watch, unix.SIGTERM, stepKillPatience)
	}
}

// signalSteps sends the signals that are due, in one call: at the end of the allocation
// there are many.
func (w *work) signalSteps() {
	if w.runner.steps == nil {
		return
	}
	for sig, names := range w.runner.steps.TakeSignals() {
		w.runner.pool.do(func() {
			if err := w.runner.steps.Signal(sig, names); err != nil {
				w.runner.log.Warn("cannot signal steps", "steps", names, "error", err)
			}
		})
	}
}
