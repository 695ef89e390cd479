package runner

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// defaultRepairTime limits a recovery script if the daemon sets no limit.
const defaultRepairTime = 10 * time.Minute

// repairs are the recovery scripts that wait or run. They take no room from jobs: they
// are small, and the repaired jobs should run soon.
type repairs struct {
	runner  *Runner
	waiting []*attempt
	running int64
}

// queueScript queues the recovery script of a failed attempt. The attempt keeps its
// lease until the end of the script has been reported.
func (p *repairs) queueScript(a *attempt, script *lease.Recovery) {
	*a = attempt{
		grant: a.grant, key: a.key + ".recovery", granted: time.Now(),
		phase: repairing, recovery: script,
	}
	p.waiting = append(p.waiting, a)
}

// startRepairs starts waiting scripts, a few at a time. A runner that is leaving
// starts none: when it deregisters, other runners can have their leases.
func (p *repairs) startRepairs() {
	if p.runner.leaving.active() {
		return
	}
	for len(p.waiting) > 0 && p.running < max(1, p.runner.room.slots()) {
		a := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.running++
		a.phase = starting
		p.runner.work.byJob[a.grant.JobID] = a
		p.runner.emitFor(a, Event{Kind: EventRecovering})
		p.runner.pool.do(func() { p.launchRepair(a) })
	}
}

// launchRepair starts the script. It runs on the pool.
func (p *repairs) launchRepair(a *attempt) {
	p.runner.restore.ensureOutputDir()
	g := &a.grant
	base := output.LogPath(p.runner.opts.OutputDir, p.runner.opts.WorkflowID, g.JobID, p.runner.about.RunID, g.Attempt, "_recovery")
	set := append(jobVariables(g, a.key, p.runner.work.terminationFile(g), nil),
		[2]string{envReturnCode, strconv.FormatInt(a.recovery.ReturnCode, 10)},
		[2]string{envCause, string(a.recovery.Cause)})
	m := startedMsg{attempt: a, files: output.Files{Stdout: base + ".o", Stderr: base + ".e"}, at: time.Now()}
	m.pid, m.err = p.runner.executor.Start(&process.Command{
		Argv:   []string{p.runner.shell, "-c", a.recovery.Script},
		Env:    p.runner.env.with(g.Env, set),
		Dir:    p.dir(),
		Stdout: m.files.Stdout, Stderr: m.files.Stderr,
	}, func(e process.Exit) { p.runner.box.put(exitedMsg{a, e}) })
	if m.err == nil && m.pid != 0 {
		p.runner.leftover.Started(m.pid, a.key)
	}
	p.runner.box.put(m)
}

// dir returns where recovery scripts run: the directory from which the workflow was
// submitted, if it exists, else that of jobs.
func (p *repairs) dir() string {
	dir := p.runner.about.SubmissionDirectory
	if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
		return dir
	}
	return p.runner.opts.WorkDir
}

// repairTime returns how long a script may run.
func (a *attempt) repairTime() time.Duration {
	if a.recovery.TimeoutSeconds > 0 {
		return secondsOf(min(a.recovery.TimeoutSeconds, maxSeconds))
	}
	return defaultRepairTime
}

// onScriptEnded queues the report of how a script ended.
func (p *repairs) onScriptEnded(a *attempt, report *lease.Report) {
	p.running--
	if a.void {
		p.runner.work.forget(a)
		return
	}
	answer := lease.Recovered{LeaseRef: a.ref()}
	switch {
	case a.spawnErr != nil:
		answer.ReturnCode, answer.Error = -1, a.spawnErr.Error()
	case a.killed == workflow.KilledByTimeout:
		answer.Error = fmt.Sprintf("did not end within %s", a.repairTime())
	case a.killed != "":
		answer.Error = "ended by the runner: " + string(a.killed)
	}
	if a.exit != nil {
		answer.ReturnCode = a.exit.ReturnCode()
	}
	if answer.ReturnCode != 0 || answer.Error != "" {
		answer.StartedMS, answer.EndedMS, answer.Evidence = report.StartedMS, report.EndedMS, &report.Evidence
	}
	p.runner.emitFor(a, Event{Kind: EventRecovered, ReturnCode: answer.ReturnCode, Message: answer.Error})
	a.phase = reported
	p.runner.turns.recovered = append(p.runner.turns.recovered, answer)
}
