// Package steps starts jobs as Slurm steps, and reads what Slurm and srun report about
// their ends.
package steps

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

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Starter starts jobs as steps of a Slurm allocation.
type Starter struct {
	Slurm *slurm.Client
	Job   slurm.JobID
	Srun  string // name or path of srun
}

// The modes of an execution_config; the default is direct.
const (
	modeSlurm = "slurm"
	modeAuto  = "auto"
)

// ModeOf returns how jobs are started as steps, nil if the workflow's configuration says
// that they are not. starter is nil outside of allocations. Its error has CodeInvalid if
// the workflow requires steps there, and CodeUnavailable without srun.
func ModeOf(config *workflow.ExecutionConfig, starter *Starter) (*Mode, error) {
	mode := ""
	if config != nil {
		mode = strings.ToLower(config.Mode)
	}
	if mode != modeSlurm && (mode != modeAuto || starter == nil) {
		return nil, nil
	}
	if starter == nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "the workflow runs its jobs as Slurm steps, and this is not an allocation").
			WithHint("run it in an allocation, or set execution_config.mode to auto")
	}
	srun, err := exec.LookPath(starter.Srun)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "the workflow runs its jobs as Slurm steps: %v", err)
	}
	return &Mode{Starter: *starter, srun: srun, config: config}, nil
}

// Mode starts jobs as steps. Its user owns signals; the rest does not change.
type Mode struct {
	Starter
	srun    string // absolute
	config  *workflow.ExecutionConfig
	signals map[unix.Signal][]string // names of steps by the signal to send
}

// Name returns the name of the step of a granted job in Slurm's records.
func Name(workflowID, run int64, g *lease.Grant) string {
	return fmt.Sprintf("wf%d_j%d_r%d_a%d", workflowID, g.JobID, run, g.Attempt)
}

// Argv returns the command of a step that runs program on the named hosts, if any.
func (m *Mode) Argv(name string, g *lease.Grant, hosts []string, limit time.Duration, files *output.Files, program []string) []string {
	s := slurm.Step{
		Job: m.Job, Name: name, Node: strings.Join(hosts, ","), Nodes: int(g.Nodes), TimeLimit: limit,
		Signal: m.config.SrunTerminationSignal, NoCPUBind: m.config.EnableCPUBind == nil || !*m.config.EnableCPUBind, Program: program,
	}
	if files.SrunOnly {
		s.Error = os.DevNull
	}
	if g.Requirements != workflow.DefaultRequirements {
		s.CPUsPerTask, s.Memory, s.GPUs = int(g.CPUs), g.MemoryBytes, int(g.GPUs)
	}
	return append([]string{m.srun}, slurm.SrunArgs(s)...)
}

// SeparateSrunErrors has srun use a special exit code for its own errors. It removes the
// variable for that from the environment of program, so that srun in a job ends as
// usual.
func SeparateSrunErrors(environ, program []string) (newEnviron, newProgram []string) {
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

// srunInputs are variables of the batch script that srun would use as options.
var srunInputs = []string{
	"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_OVERLAP",
	"SLURM_DISTRIBUTION", "SLURM_THREADS_PER_CORE", "SLURM_HINT", "SLURM_TIMELIMIT", "SLURM_WCKEY", "SLURM_NO_KILL", "SLURM_KILL_BAD_EXIT",
	"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_TRES_PER_TASK", "SLURM_GRES",
}

// srunInputPrefixes are the prefixes of further such variables.
var srunInputPrefixes = []string{"SLURM_MEM_", "SLURM_NTASKS_PER_", "SLURM_CPU_BIND", "SLURM_MEM_BIND", "SLURM_GPU", "SRUN_", "SLURM_STEP_"}

// WithoutInputs removes the variables that srun would use as options. With those of the
// batch script a step would take all memory of the allocation, and the next one would
// wait for its end.
func WithoutInputs(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(srunInputs, name) ||
			slices.ContainsFunc(srunInputPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// OverlapArgv returns the command and environment of a step on a node that takes no
// resources from the steps of jobs.
func (s *Starter) OverlapArgv(name, node string, environ, program []string) (argv, env []string) {
	step := slurm.Step{Job: s.Job, Name: name, Node: node, NoCPUBind: true, Overlap: true, Program: program}
	return append([]string{s.Srun}, slurm.SrunArgs(step)...), WithoutInputs(slices.Clone(environ))
}

// Signal signals all processes of the named steps. It skips those that do not run: they
// have ended, or wait for resources and will be killed.
func (m *Mode) Signal(sig unix.Signal, names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), CallTime)
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

// SignalLater adds a signal to a step to the next TakeSignals.
func (m *Mode) SignalLater(sig unix.Signal, name string) {
	if m.signals == nil {
		m.signals = make(map[unix.Signal][]string)
	}
	m.signals[sig] = append(m.signals[sig], name)
}

// TakeSignals returns the names of steps by the signal to send, and clears them.
func (m *Mode) TakeSignals() map[unix.Signal][]string {
	signals := m.signals
	m.signals = nil
	return signals
}

// HasSignalBeforeLimit reports whether srun is to send a signal before the time limit.
func (m *Mode) HasSignalBeforeLimit() bool { return m.config.SrunTerminationSignal != "" }

// CallTime limits a call of Slurm about steps.
const CallTime = 5 * time.Second
