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

// linked and linkedTime are set by the linker: the version, and the time of its commit.
var linked, linkedTime string

// version is the version that the linker set, else the commit that the program was built
// from.
var version = cmp.Or(linked, commit(), "unknown")

// commit returns the commit that the Go tool recorded in the program, with -dirty if there
// were changes; empty if unknown.
func commit() string {
	const short = 12
	revision := recorded("vcs.revision")
	if len(revision) < short {
		return ""
	}
	if recorded("vcs.modified") == "true" {
		return revision[:short] + "-dirty"
	}
	return revision[:short]
}

// versionText is the version with the time of its commit, as --version shows it.
func versionText() string {
	if at := cmp.Or(linkedTime, recorded("vcs.time")); at != "" {
		return version + " (commit of " + at + ")"
	}
	return version
}

// recorded returns what the Go tool recorded in the program under a key; empty if nothing.
func recorded(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
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
