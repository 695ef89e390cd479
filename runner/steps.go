package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Steps starts jobs as steps of an allocation of Slurm.
type Steps struct {
	Slurm *slurm.Client
	Job   slurm.JobID
	Srun  string // name or path of srun
}

// The modes of an execution_config; the default is direct.
const (
	modeSlurm = "slurm"
	modeAuto  = "auto"
)

// chooseMode decides whether jobs are steps.
func (r *Runner) chooseMode(config *workflow.ExecutionConfig) error {
	mode := ""
	if config != nil {
		mode = strings.ToLower(config.Mode)
	}
	if mode != modeSlurm && (mode != modeAuto || r.opts.Steps == nil) {
		return nil
	}
	if r.opts.Steps == nil {
		return workflow.Errorf(workflow.CodeInvalid, "the workflow wants its jobs run as steps of Slurm, and this is no allocation").
			WithHint("run it in an allocation, or set execution_config.mode to auto")
	}
	srun, err := exec.LookPath(r.opts.Steps.Srun)
	if err != nil {
		return workflow.Errorf(workflow.CodeUnavailable, "the workflow wants its jobs run as steps of Slurm: %v", err)
	}
	r.steps = &stepMode{Steps: *r.opts.Steps, srun: srun, config: config}
	return nil
}

// stepMode starts jobs as steps. The goroutine of Run owns signals; the rest
// does not change.
type stepMode struct {
	Steps
	srun    string // absolute
	config  *workflow.ExecutionConfig
	signals map[unix.Signal][]string // to be sent, to the steps of these names
}

// stepName is by which a step is found in Slurm's records.
func stepName(workflowID, run int64, g *api.Grant) string {
	return fmt.Sprintf("wf%d_j%d_r%d_a%d", workflowID, g.JobID, run, g.Attempt)
}

// argv is the command of a step that runs program on the named hosts; they are
// left out where there is no choice.
func (m *stepMode) argv(name string, g *api.Grant, hosts []string, limit time.Duration, files *stdio, program []string) []string {
	s := slurm.Step{
		Job: m.Job, Name: name, Node: strings.Join(hosts, ","), Nodes: int(g.Nodes), TimeLimit: limit,
		Signal: m.config.SrunTerminationSignal, NoCPUBind: m.config.EnableCPUBind == nil || !*m.config.EnableCPUBind, Program: program,
	}
	if files.srunOnly {
		s.Error = os.DevNull
	}
	if g.Requirements != workflow.DefaultRequirements {
		s.CPUsPerTask, s.Memory, s.GPUs = int(g.CPUs), g.MemoryBytes, int(g.GPUs)
	}
	return append([]string{m.srun}, slurm.SrunArgs(s)...)
}

// tellErrorsApart has srun end with a code of its own for its own errors, and
// keeps that from what it starts: an srun of the job ends as it always does.
func tellErrorsApart(environ, program []string) (newEnviron, newProgram []string) {
	own := []string{"/usr/bin/env", "-u", slurm.SrunErrorVariable}
	newEnviron = slices.DeleteFunc(environ, func(entry string) bool {
		set := strings.HasPrefix(entry, slurm.SrunErrorVariable+"=")
		if set {
			own = []string{"/usr/bin/env", entry}
		}
		return set
	})
	return append(newEnviron, slurm.SrunErrorVariable+"="+strconv.Itoa(slurm.SrunErrorCode)), append(own, program...)
}

// stepTime is the time limit of a step that starts now; 0 for none. Slurm
// counts in minutes. We end steps ourselves when their time is over, so that the
// limit only stands behind us; but where the user wants a signal so long before
// it, it must not lie beyond the end.
func (r *Runner) stepTime(now time.Time) time.Duration {
	if r.steps == nil || r.schedule.end.IsZero() {
		return 0
	}
	left := r.schedule.end.Sub(now)
	if r.steps.config.SrunTerminationSignal != "" {
		return (left - r.schedule.headroom()).Truncate(time.Minute)
	}
	return (left + time.Minute - 1).Truncate(time.Minute)
}

// inputs of srun are variables that would add to its arguments: those of the
// allocation's batch script.
var srunInputs = []string{
	"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_OVERLAP",
	"SLURM_DISTRIBUTION", "SLURM_THREADS_PER_CORE", "SLURM_HINT", "SLURM_TIMELIMIT", "SLURM_WCKEY", "SLURM_NO_KILL", "SLURM_KILL_BAD_EXIT",
	"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_TRES_PER_TASK", "SLURM_GRES",
}

// srunInputPrefixes are those of families of such variables.
var srunInputPrefixes = []string{"SLURM_MEM_", "SLURM_NTASKS_PER_", "SLURM_CPU_BIND", "SLURM_MEM_BIND", "SLURM_GPU", "SRUN_", "SLURM_STEP_"}

// withoutInputs drops the variables that change what srun does. Without a word
// about memory a step would take that of the whole allocation, and the next one
// would wait for its end.
func withoutInputs(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(srunInputs, name) ||
			slices.ContainsFunc(srunInputPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// Beside is the command of a step on a node that takes nothing from those of jobs.
func (s *Steps) Beside(name, node string, environ, program []string) (argv, env []string) {
	step := slurm.Step{Job: s.Job, Name: name, Node: node, NoCPUBind: true, Overlap: true, Program: program}
	return append([]string{s.Srun}, slurm.SrunArgs(step)...), withoutInputs(slices.Clone(environ))
}

// elsewhere changes the environment of a step that begins on another node than
// the runner's, where nobody listens at the address that jobs are told here.
func (r *Runner) elsewhere(env, hosts []string) []string {
	if len(hosts) == 0 || len(r.opts.Nodes) == 0 || hosts[0] == r.opts.Nodes[0] {
		return env
	}
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, envAPIURL+"=") })
	if r.opts.APIURLOn != nil {
		if url := r.opts.APIURLOn(hosts[0]); url != "" {
			env = append(env, envAPIURL+"="+url)
		}
	}
	return env
}

// stepKillPatience is how long srun may take to kill the tasks of its step.
const stepKillPatience = 10 * time.Second

// endStep ends a step: the signal goes to its processes by way of Slurm, since
// srun answers most signals by killing them. After lead srun is told to.
func (r *Runner) endStep(a *attempt, sig unix.Signal, lead time.Duration) {
	if sig == unix.SIGKILL || lead <= 0 {
		r.keeper.endTree(a.watch, unix.SIGTERM, stepKillPatience)
		return
	}
	if !a.signalled {
		a.signalled = true
		if r.steps.signals == nil {
			r.steps.signals = make(map[unix.Signal][]string)
		}
		r.steps.signals[sig] = append(r.steps.signals[sig], stepName(r.opts.WorkflowID, r.about.RunID, &a.grant))
	}
	if a.endTimer != nil {
		a.endTimer.Stop()
	}
	a.endTimer = time.AfterFunc(lead, func() { r.box.put(hurryMsg{a}) })
}

// hurryMsg says that an attempt has had its time to end.
type hurryMsg struct{ attempt *attempt }

func (r *Runner) onHurry(a *attempt) {
	if a.phase == running && a.exit == nil && a.watch != nil {
		r.keeper.endTree(a.watch, unix.SIGTERM, stepKillPatience)
	}
}

// signalSteps sends the signals that are due: all in one call, since they are
// when the allocation ends.
func (r *Runner) signalSteps() {
	if r.steps == nil {
		return
	}
	for sig, names := range r.steps.signals {
		delete(r.steps.signals, sig)
		r.pool.do(func() {
			if err := r.steps.signal(sig, names); err != nil {
				r.log.Warn("cannot signal steps", "steps", names, "error", err)
			}
		})
	}
}

// signal sends a signal to all processes of the steps of these names. One that
// is not there has ended, or waits for room and will be killed.
func (m *stepMode) signal(sig unix.Signal, names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), wordCallTime)
	defer cancel()
	running, err := m.Slurm.RunningSteps(ctx, m.Job)
	if err != nil {
		return err
	}
	var ids []slurm.StepID
	for _, s := range running {
		if slices.Contains(names, s.Name) {
			ids = append(ids, s.ID)
		}
	}
	return m.Slurm.SignalSteps(ctx, strings.TrimPrefix(unix.SignalName(sig), "SIG"), ids...)
}
