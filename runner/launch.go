package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// launch starts the process of an attempt, on the named hosts if it is a step;
// it runs on the pool.
func (r *Runner) launch(a *attempt, gpus, hosts []string, timeLimit time.Duration) {
	r.keepOutput()
	g := &a.grant
	base := LogPath(r.opts.OutputDir, r.opts.WorkflowID, g.JobID, r.about.RunID, g.Attempt, "")
	files := stdioPaths(stdioConfig(g, r.about.ExecutionConfig), base)
	m := startedMsg{attempt: a, files: files, at: time.Now()}
	argv := []string{r.shell, "-c", shellCommand(g.InvocationScript, g.Command)}
	own := jobVariables(g, a.key, r.terminationFile(g), gpus)
	if g.Input != nil {
		path := base + inputEnding
		if m.err = writeInput(path, g.Input.Data); m.err != nil {
			r.box.put(m)
			return
		}
		own = append(own, [2]string{g.Input.Variable, path})
	}
	if g.Compensates {
		path, err := r.failed.file(r)
		if err != nil {
			if m.err = err; !errors.As(err, new(*unansweredError)) {
				m.err = nodeFault(err)
			}
			r.box.put(m)
			return
		}
		own = append(own, [2]string{workflow.FailedWorkflowEnv, path})
		m.at = time.Now() // the daemon may have taken its time
	}
	env := r.env.with(g.Env, own)
	if r.steps != nil {
		if m.files.stderr == "" {
			m.files.stderr, m.files.srunOnly = base+".srun", true
		}
		env, argv = tellErrorsApart(r.elsewhere(withoutInputs(env), hosts), argv)
		argv = r.steps.argv(stepName(r.opts.WorkflowID, r.about.RunID, g), g, hosts, timeLimit, &m.files, argv)
		m.at = time.Now() // a way to the API may have had to be made
	}
	// If we are killed now, the daemon or the next runner reads it.
	r.spool.starting(api.Held{LeaseRef: g.LeaseRef, StartedMS: m.at.UnixMilli()})
	r.failpoint("runner.noted")
	if r.opts.Executor == nil && r.steps == nil {
		r.oom.Start(a.key, a.called())
	}
	m.pid, m.err = r.executor.Start(&Command{
		Argv: argv, Env: env, Dir: r.opts.WorkDir,
		Stdout: m.files.stdout, Stderr: m.files.stderr,
	}, func(e Exit) { r.box.put(exitedMsg{a, e}) })
	r.failpoint("runner.started")
	if m.err == nil && m.pid != 0 {
		r.leftover.started(m.pid, a.key)
	}
	r.box.put(m)
}

// inputEnding ends the name of the file with the input of an attempt.
const inputEnding = ".json"

// writeInput writes the input of an attempt, for its user alone.
func writeInput(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of an input: %w", err)
	}
	if err := trustedfile.Write(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the input of an attempt: %w", err)
	}
	return nil
}

func (r *Runner) onStarted(m startedMsg) {
	a := m.attempt
	if errors.As(m.err, new(*unansweredError)) {
		r.onUnanswered(a, m.err)
		return
	}
	a.started, a.pid, a.files = m.at, m.pid, m.files
	if m.err != nil {
		r.onSpawnError(a, m.err)
		return
	}
	a.phase = running
	if a.recovery == nil {
		r.summary.Started++
		r.turns.news(m.at)
		r.emitFor(a, Event{Kind: EventStarted})
	}
	if a.pid != 0 {
		a.watch = &watch{attempt: a, key: a.key, pid: a.pid, started: a.started}
		switch {
		case a.recovery != nil:
		case r.steps != nil:
			a.watch.unmeasured = true // Slurm measures and limits it
		default:
			a.watch.limit = r.policy.memoryLimit(&a.grant)
		}
	}
	switch {
	case a.exit != nil:
		r.leaderEnded(a)
	case a.pid != 0 || r.ender != nil:
		r.supervise(a)
	}
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

// supervise watches a running attempt and its limits.
func (r *Runner) supervise(a *attempt) {
	if a.watch != nil {
		r.keeper.add(a.watch)
	}
	if a.killed != "" {
		r.end(a)
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
	if a.phase != running || a.exit != nil {
		return
	}
	r.log.Info("memory limit exceeded", "job_id", a.grant.JobID,
		"memory_bytes", m.memory, "limit_bytes", a.watch.limit)
	r.kill(a, workflow.KilledByMemoryLimit, unix.SIGKILL, 0)
}
