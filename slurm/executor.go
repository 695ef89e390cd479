package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The names of the programs of Slurm that this package runs.
const (
	Sbatch   = "sbatch"
	Squeue   = "squeue"
	Sacct    = "sacct"
	Scancel  = "scancel"
	Scontrol = "scontrol"
	Sinfo    = "sinfo"
	Sacctmgr = "sacctmgr"
	Srun     = "srun"
)

// An Executor runs one of Slurm's programs. *OS runs the real programs, a cluster
// of slurmtest answers in-process; both pass the same conformance suite.
//
// A program that ran and failed is an Output with an exit code, not an error.
// An error that wraps ErrNotStarted means that it did not run at all. After any
// other error (it wraps context.DeadlineExceeded if the program did not end in time) the
// request may have been carried out.
type Executor interface {
	Run(ctx context.Context, cmd Command) (Output, error)
}

// ErrNotStarted is the cause of the error of a program that did not run.
var ErrNotStarted = errors.New("could not be started")

// Command is one run of a program.
type Command struct {
	Program string // Sbatch, Squeue, …
	Args    []string
	Stdin   []byte
	Dir     string   // working directory; "" is our own
	Env     []string // added to the environment, "NAME=value"
}

// Output is the output and exit code of a program.
type Output struct {
	Stdout, Stderr []byte
	ExitCode       int
}

// maxOutput is how much of a program's output is kept. A queue of 100,000 jobs
// is below 64 MiB; larger output is not a valid answer.
const maxOutput = 64 << 20

// killDelay is how long a program that was told to stop may take to do so.
const killDelay = 2 * time.Second

// OS runs the programs that are installed on this host.
type OS struct {
	// Paths replaces programs: name to path. Other programs are looked up in PATH.
	Paths map[string]string
}

// FakePaths returns the replacements of programs in the variables TORC_FAKE_SBATCH,
// TORC_FAKE_SQUEUE and so on.
func FakePaths(getenv func(string) string) map[string]string {
	paths := map[string]string{}
	for _, program := range []string{Sbatch, Squeue, Sacct, Scancel, Scontrol, Sinfo, Sacctmgr, Srun} {
		if path := getenv("TORC_FAKE_" + strings.ToUpper(program)); path != "" {
			paths[program] = path
		}
	}
	return paths
}

// Path returns the file that is run for a program.
func (x *OS) Path(program string) string {
	if path, ok := x.Paths[program]; ok {
		return path
	}
	return program
}

// Run runs a program in a process group of its own, which is killed when ctx
// ends.
func (x *OS) Run(ctx context.Context, c Command) (Output, error) {
	cmd := exec.CommandContext(ctx, x.Path(c.Program), c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = slices.Concat(ownEnvironment(os.Environ()), c.Env)
	cmd.Stdin = bytes.NewReader(c.Stdin)
	stdout, stderr := &limitedBuffer{limit: maxOutput}, &limitedBuffer{limit: maxOutput}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	out := Output{Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes()}
	if cmd.ProcessState != nil {
		out.ExitCode = cmd.ProcessState.ExitCode()
	}
	if ctx.Err() != nil {
		return out, fmt.Errorf("%s did not end in time: %w", c.Program, ctx.Err())
	}
	if stdout.exceeded {
		return out, fmt.Errorf("%s wrote more than %d MiB", c.Program, maxOutput>>20)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return out, nil
	}
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it succeeded, and a child of it still has its output open
		return out, nil
	case cmd.Process == nil:
		return out, fmt.Errorf("%s %w: %w", c.Program, ErrNotStarted, err)
	}
	return out, fmt.Errorf("run %s: %w", c.Program, err)
}

// changesAnswers are the prefixes of variables that change what Slurm's
// programs do or print. Inside an allocation there are many of them, and a
// job that we submit must not inherit ours. Those of sbatch override its
// script, and come from the user who started the daemon; a command passes its
// own settings in the request.
var changesAnswers = []string{"SLURM_", "SLURMD_", "SBATCH_", "SQUEUE_", "SACCT_", "SACCTMGR_", "SINFO_", "SCANCEL_", "SCONTROL_", "SRUN_"}

// keptVariables are the exceptions, which say where the cluster is.
var keptVariables = []string{"SLURM_CONF", "SLURM_CONF_SERVER"}

func ownEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(keptVariables, name) &&
			slices.ContainsFunc(changesAnswers, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// limitedBuffer keeps the first limit bytes and records whether there were more.
type limitedBuffer struct {
	kept     bytes.Buffer // not embedded: its ReadFrom would bypass Write
	limit    int
	exceeded bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := min(b.limit-b.kept.Len(), len(p))
	b.exceeded = b.exceeded || room < len(p)
	b.kept.Write(p[:room])
	return len(p), nil
}
