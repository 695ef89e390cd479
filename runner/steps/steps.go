// Package steps is about steps of Slurm: how jobs are started as such, and what Slurm and srun
// say of their ends.
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

// Starter starts jobs as steps of an allocation of Slurm.
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

// ModeOf returns how jobs are started as steps, nil if they are none: as the workflow
// wants it, by what there is, nil outside of allocations. It is CodeInvalid if the workflow
// wants steps where there is no allocation, and CodeUnavailable without srun.
func ModeOf(config *workflow.ExecutionConfig, there *Starter) (*Mode, error) {
	mode := ""
	if config != nil {
		mode = strings.ToLower(config.Mode)
	}
	if mode != modeSlurm && (mode != modeAuto || there == nil) {
		return nil, nil
	}
	if there == nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "the workflow wants its jobs run as steps of Slurm, and this is no allocation").
			WithHint("run it in an allocation, or set execution_config.mode to auto")
	}
	srun, err := exec.LookPath(there.Srun)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "the workflow wants its jobs run as steps of Slurm: %v", err)
	}
	return &Mode{Starter: *there, srun: srun, config: config}, nil
}

// Mode starts jobs as steps. Who uses it owns the signals; the rest does not change.
type Mode struct {
	Starter
	srun    string // absolute
	config  *workflow.ExecutionConfig
	signals map[unix.Signal][]string // to be sent, to the steps of these names
}

// Name is by which a step is found in Slurm's records.
func Name(workflowID, run int64, g *lease.Grant) string {
	return fmt.Sprintf("wf%d_j%d_r%d_a%d", workflowID, g.JobID, run, g.Attempt)
}

// Argv is the command of a step that runs program on the named hosts; they are
// left out where there is no choice.
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

// TellErrorsApart has srun end with a code of its own for its own errors, and
// keeps that from what it starts: an srun of the job ends as it always does.
func TellErrorsApart(environ, program []string) (newEnviron, newProgram []string) {
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

// inputs of srun are variables that would add to its arguments: those of the
// allocation's batch script.
var srunInputs = []string{
	"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_OVERLAP",
	"SLURM_DISTRIBUTION", "SLURM_THREADS_PER_CORE", "SLURM_HINT", "SLURM_TIMELIMIT", "SLURM_WCKEY", "SLURM_NO_KILL", "SLURM_KILL_BAD_EXIT",
	"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_TRES_PER_TASK", "SLURM_GRES",
}

// srunInputPrefixes are those of families of such variables.
var srunInputPrefixes = []string{"SLURM_MEM_", "SLURM_NTASKS_PER_", "SLURM_CPU_BIND", "SLURM_MEM_BIND", "SLURM_GPU", "SRUN_", "SLURM_STEP_"}

// WithoutInputs drops the variables that change what srun does. Without a word
// about memory a step would take that of the whole allocation, and the next one
// would wait for its end.
func WithoutInputs(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(srunInputs, name) ||
			slices.ContainsFunc(srunInputPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// Beside is the command of a step on a node that takes nothing from those of jobs.
func (s *Starter) Beside(name, node string, environ, program []string) (argv, env []string) {
	step := slurm.Step{Job: s.Job, Name: name, Node: node, NoCPUBind: true, Overlap: true, Program: program}
	return append([]string{s.Srun}, slurm.SrunArgs(step)...), WithoutInputs(slices.Clone(environ))
}

// Signal sends a signal to all processes of the steps of these names. One that
// is not there has ended, or waits for room and will be killed.
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

// SignalLater has a signal sent to the steps of a name with the next TakeSignals.
func (m *Mode) SignalLater(sig unix.Signal, name string) {
	if m.signals == nil {
		m.signals = make(map[unix.Signal][]string)
	}
	m.signals[sig] = append(m.signals[sig], name)
}

// TakeSignals returns the signals to be sent, with the names of the steps, and forgets
// them.
func (m *Mode) TakeSignals() map[unix.Signal][]string {
	signals := m.signals
	m.signals = nil
	return signals
}

// SignalledBefore is whether the user wants a signal of Slurm before the time limit.
func (m *Mode) SignalledBefore() bool { return m.config.SrunTerminationSignal != "" }

// CallTime is how long a call of Slurm about steps may take.
const CallTime = 5 * time.Second
