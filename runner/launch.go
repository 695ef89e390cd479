package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// work holds all leased attempts, from the grant to the answer to their reports.
type work struct {
	runner   *Runner
	attempts map[lease.LeaseRef]*attempt
	byJob    map[int64]*attempt // those that may have processes
}

// launch starts the process of an attempt, on the named hosts if it is a step. It
// runs on the pool.
func (w *work) launch(a *attempt, gpus, hosts []string, timeLimit time.Duration) {
	w.runner.restore.ensureOutputDir()
	g := &a.grant
	base := output.LogPath(w.runner.opts.OutputDir, w.runner.opts.WorkflowID, g.JobID, w.runner.about.RunID, g.Attempt, "")
	files := output.FilesOf(output.StdioConfig(g, w.runner.about.ExecutionConfig), base)
	m := startedMsg{attempt: a, files: files, at: time.Now()}
	script := ""
	if g.InvocationScript != nil {
		script = *g.InvocationScript
	}
	argv := []string{w.runner.shell, "-c", shellCommand(script, g.Command)}
	own := jobVariables(g, a.key, w.terminationFile(g), gpus)
	if g.Input != nil {
		path := base + inputEnding
		if m.err = writeInput(path, g.Input.Data); m.err != nil {
			w.runner.box.put(m)
			return
		}
		own = append(own, [2]string{g.Input.Variable, path})
	}
	if g.Compensates {
		path, err := w.runner.failed.file(w.runner)
		if err != nil {
			if m.err = err; !errors.As(err, new(*unansweredError)) {
				m.err = process.NodeFault(err)
			}
			w.runner.box.put(m)
			return
		}
		own = append(own, [2]string{stage.FailedWorkflowEnv, path})
		m.at = time.Now() // the call may have taken long
	}
	env := w.runner.env.with(g.Env, own)
	if w.runner.steps != nil {
		if m.files.Stderr == "" {
			m.files.Stderr, m.files.SrunOnly = base+".srun", true
		}
		env, argv = steps.SeparateSrunErrors(w.envForHost(steps.WithoutInputs(env), hosts), argv)
		argv = w.runner.steps.Argv(steps.Name(w.runner.opts.WorkflowID, w.runner.about.RunID, g), g, hosts, timeLimit, &m.files, argv)
		m.at = time.Now() // opening a gateway may have taken long
	}
	// If the runner is killed now, the daemon or the next runner reads this.
	w.runner.spool.recordStart(lease.Held{LeaseRef: g.LeaseRef, StartedMS: m.at.UnixMilli()})
	w.runner.failpoint("runner.noted")
	if w.runner.opts.Executor == nil && w.runner.steps == nil {
		w.runner.oom.Start(a.key, a.displayName())
	}
	m.pid, m.err = w.runner.executor.Start(&process.Command{
		Argv: argv, Env: env, Dir: w.runner.opts.WorkDir,
		Stdout: m.files.Stdout, Stderr: m.files.Stderr,
	}, func(e process.Exit) { w.runner.box.put(exitedMsg{a, e}) })
	w.runner.failpoint("runner.started")
	if m.err == nil && m.pid != 0 {
		w.runner.leftover.Started(m.pid, a.key)
	}
	w.runner.box.put(m)
}

// inputEnding is the file name extension of the input of an attempt.
const inputEnding = ".json"

// writeInput writes the input of an attempt to a file that only its user can read.
func writeInput(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the folder of an input: %w", err)
	}
	if err := trustedfile.Write(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the input of an attempt: %w", err)
	}
	return nil
}

func (w *work) onStarted(m startedMsg) {
	a := m.attempt
	if errors.As(m.err, new(*unansweredError)) {
		w.onUnanswered(a, m.err)
		return
	}
	a.started, a.pid, a.files = m.at, m.pid, m.files
	if m.err != nil {
		w.onSpawnError(a, m.err)
		return
	}
	a.phase = running
	if a.recovery == nil {
		w.runner.summary.Started++
		w.runner.turns.noteChange(m.at)
		w.runner.emitFor(a, Event{Kind: EventStarted})
	}
	if a.pid != 0 {
		a.watch = watchOf(a, w.runner.box, w.runner.monitor)
		switch {
		case a.recovery != nil:
		case w.runner.steps != nil:
			a.watch.Unmeasured = true // Slurm measures and limits it
		default:
			a.watch.Limit = w.runner.policy.memoryLimit(&a.grant)
		}
	}
	switch {
	case a.exit != nil:
		w.leaderEnded(a)
	case a.pid != 0 || w.runner.ender != nil:
		w.supervise(a)
	}
}

func (w *work) onSpawnError(a *attempt, err error) {
	if !errors.As(err, &a.spawnErr) {
		a.spawnErr = process.NodeFault(err)
	}
	w.runner.log.Warn("job could not be started", "job_id", a.grant.JobID, "error", err)
	a.phase = finishing
	w.release(a)
	w.finish(a)
}

// supervise watches a running attempt and its limits.
func (w *work) supervise(a *attempt) {
	if a.watch != nil {
		w.runner.keeper.Add(a.watch)
	}
	if a.killed != "" {
		w.end(a)
	}
	after, _ := w.timeLimit(a)
	if after > 0 {
		a.runLimit = after
		a.timer = time.AfterFunc(after-time.Since(a.started), func() { w.runner.box.put(overdueMsg{a}) })
	}
}

// timeLimit returns how long an attempt or a recovery script may run, 0 for no limit,
// and the grace between its signal and SIGKILL.
func (w *work) timeLimit(a *attempt) (after, grace time.Duration) {
	if a.recovery != nil {
		return a.repairTime(), min(w.runner.policy.lead, strayLead)
	}
	return w.runner.policy.runLimit(&a.grant)
}

// onOverdue ends an attempt that has reached its run time limit.
func (w *work) onOverdue(a *attempt) {
	if a.phase != running || a.exit != nil {
		return
	}
	_, grace := w.timeLimit(a)
	w.runner.log.Info("run time limit reached", "job_id", a.grant.JobID, "limit_s", a.runLimit.Seconds())
	w.kill(a, workflow.KilledByTimeout, w.runner.policy.signal, grace)
}

// onOverLimit kills an attempt that uses more memory than it requested. It gets no
// grace, since the node may run out of memory.
func (w *work) onOverLimit(m overLimitMsg) {
	a := m.attempt
	if a.phase != running || a.exit != nil {
		return
	}
	w.runner.log.Info("memory limit exceeded", "job_id", a.grant.JobID,
		"memory_bytes", m.memory, "limit_bytes", a.watch.Limit)
	w.kill(a, workflow.KilledByMemoryLimit, unix.SIGKILL, 0)
}

// overLimitMsg says that the memory of a process tree is above its limit.
type overLimitMsg struct {
	attempt *attempt
	memory  int64
}

// watchOf returns the watch for an attempt. It reports to the mailbox, and to the
// monitor if there is one.
func watchOf(a *attempt, box *mailbox, m *monitor) *process.Watch {
	w := &process.Watch{
		Key: a.key, PID: a.pid, Started: a.started,
		Gone:       func(left int) { box.put(goneMsg{a, left}) },
		AboveLimit: func(memory int64) { box.put(overLimitMsg{a, memory}) },
	}
	if m != nil && m.jobs {
		w.Record = func(now time.Time, s process.Sample) { m.record(now, &a.grant, s) }
	}
	return w
}
