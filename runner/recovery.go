package runner

import (
	"fmt"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// defaultRepairTime bounds a recovery script if the daemon does not.
const defaultRepairTime = 10 * time.Minute

// repairs are the recovery scripts that wait and run. They take no room from
// jobs: they are small, and a repaired job is wanted soon.
type repairs struct {
	waiting []*attempt
	running int64
}

// repair queues the recovery script of a failed attempt. Its lease is kept
// until the script's end has been reported.
func (r *Runner) repair(a *attempt, script *api.Recovery) {
	*a = attempt{
		grant: a.grant, key: a.key + ".recovery", granted: time.Now(),
		phase: repairing, recovery: script,
	}
	r.repairs.waiting = append(r.repairs.waiting, a)
}

// startRepairs starts waiting scripts, a few at a time. A runner that leaves
// starts none: with its leave their leases are free for others.
func (r *Runner) startRepairs() {
	if r.leaving.active() {
		return
	}
	for len(r.repairs.waiting) > 0 && r.repairs.running < max(1, r.slots()) {
		a := r.repairs.waiting[0]
		r.repairs.waiting = r.repairs.waiting[1:]
		r.repairs.running++
		a.phase = starting
		r.byJob[a.grant.JobID] = a
		r.emitFor(a, Event{Kind: EventRecovering})
		r.pool.do(func() { r.launchRepair(a) })
	}
}

// launchRepair starts the script; it runs on the pool.
func (r *Runner) launchRepair(a *attempt) {
	r.keepOutput()
	g := &a.grant
	base := LogPath(r.opts.OutputDir, r.opts.WorkflowID, g.JobID, r.about.RunID, g.Attempt, "_recovery")
	set := append(jobVariables(g, a.key, r.terminationFile(g), nil),
		[2]string{envReturnCode, strconv.FormatInt(a.recovery.ReturnCode, 10)},
		[2]string{envCause, a.recovery.Cause})
	m := startedMsg{attempt: a, files: stdio{stdout: base + ".o", stderr: base + ".e"}, at: time.Now()}
	m.pid, m.err = r.executor.Start(&Command{
		Argv:   []string{r.shell, "-c", a.recovery.Script},
		Env:    r.env.with(g.Env, set),
		Dir:    r.repairDir(),
		Stdout: m.files.stdout, Stderr: m.files.stderr,
	}, func(e Exit) { r.box.put(exitedMsg{a, e}) })
	if m.err == nil && m.pid != 0 {
		r.leftover.started(m.pid, a.key)
	}
	r.box.put(m)
}

// repairDir is where recovery scripts run: where the workflow was submitted,
// if that is known and there, else where jobs run.
func (r *Runner) repairDir() string {
	if dir := r.about.SubmissionDirectory; dir != "" && isDirectory(dir) {
		return dir
	}
	return r.opts.WorkDir
}

// repairTime is how long a script may take.
func (a *attempt) repairTime() time.Duration {
	if a.recovery.TimeoutSeconds > 0 {
		return secondsOf(min(a.recovery.TimeoutSeconds, maxSeconds))
	}
	return defaultRepairTime
}

// repaired says how a script ended.
func (r *Runner) repaired(a *attempt, report *api.Report) {
	r.repairs.running--
	if a.void {
		r.forget(a)
		return
	}
	answer := api.Recovered{LeaseRef: a.ref()}
	switch {
	case a.spawnErr != nil:
		answer.ReturnCode, answer.Error = -1, a.spawnErr.Error()
	case a.killed == workflow.KilledByTimeout:
		answer.Error = fmt.Sprintf("did not end within %s", a.repairTime())
	case a.killed != "":
		answer.Error = "ended by the runner: " + string(a.killed)
	}
	if a.exit != nil {
		answer.ReturnCode = a.exit.returnCode()
	}
	if answer.ReturnCode != 0 || answer.Error != "" {
		answer.StartedMS, answer.EndedMS, answer.Evidence = report.StartedMS, report.EndedMS, &report.Evidence
	}
	r.emitFor(a, Event{Kind: EventRecovered, ReturnCode: answer.ReturnCode, Message: answer.Error})
	a.phase = reported
	r.turns.recovered = append(r.turns.recovered, answer)
}

// returnCode is what a shell would say of an exit.
func (e *Exit) returnCode() int64 {
	if e.Signal != 0 {
		return int64(128 + e.Signal)
	}
	return int64(e.Code)
}
