// Command torc-slurm runs workflows of jobs: it is the command line, the
// daemon that owns the job database, and the runner, in one program. It also
// behaves as torc and torc-server when called by these names.
package main

import "os"

// version is set by the linker.
var version = "unknown"

func main() {
	os.Exit(run(processEnvironment()))
}

// run does what the arguments say and returns the exit status.
func run(env Environment) int {
	a := newApp(env)
	defer a.stopSignals()
	err := a.execute()
	if closeErr := a.close(); err == nil {
		err = closeErr
	}
	a.reportError(err)
	return exitStatus(err)
}
