// Command torc-slurm runs workflows of jobs: it is the command line, the
// daemon that owns the job database, and the runner, in one program. It also
// behaves as torc and torc-server when called by these names.
package main

import (
	"cmp"
	"os"
	"runtime/debug"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/serve"
	"github.com/torc-slurm/torc-slurm/internal/threads"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// linked is set by the linker.
var linked string

// version is the version that the linker set, else the commit that the program was built
// from.
var version = cmp.Or(linked, commit(), "unknown")

// commit returns the commit that the Go tool recorded in the program, with -dirty if there
// were changes; empty if unknown.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	const short = 12
	if len(revision) < short {
		return ""
	}
	return revision[:short] + dirty
}

func main() {
	os.Exit(runProgram(cli.ProcessEnvironment()))
}

// runProgram runs the command that the arguments name and returns the exit status.
func runProgram(env cli.Environment) int {
	a := cli.New(env, daemonlink.Dialer(serve.DaemonOptions(version)))
	defer a.StopSignals()
	err := enoughThreads()
	if err == nil {
		err = checkName(a)
	}
	if err == nil {
		err = cli.Execute(a, newRoot(a), arguments(a))
	}
	return a.Finish(err)
}

// enoughThreads returns an error if the user may start no more threads. Without this check
// the runtime would end the program with a stack dump later.
func enoughThreads() error {
	if err := threads.Check(threads.Needed()); err != nil {
		return workflow.Errorf(workflow.CodeConflict, "%v", err).
			WithHint("end some of your processes, or raise the limit with ulimit -u or in the settings of your session")
	}
	return nil
}
