package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Executor starts what the runner was told to run. The default starts
// processes; another one serves to measure everything else.
type Executor interface {
	// Start starts a command and returns the process id, 0 if it has no
	// process. If err is nil, exited is called exactly once, from any
	// goroutine and perhaps before Start returns. An error that is a
	// *SpawnError says whose fault it was.
	Start(c *Command, exited func(Exit)) (pid int, err error)
}

// Ender is an Executor whose commands have no processes that the runner could
// signal: it is told to end them.
type Ender interface {
	Executor
	// Signal gives a signal to the command that was started with this key in
	// TORC_ATTEMPT_KEY; one that has ended is none.
	Signal(key string, signal unix.Signal)
}

// Command is what an Executor starts.
type Command struct {
	Argv []string // Argv[0] is an absolute path
	Env  []string
	Dir  string // empty for the runner's own
	// Stdout and Stderr are paths of files that do not exist yet; empty to
	// discard. Equal paths are opened once.
	Stdout, Stderr string
}

// Exit says how a command ended.
type Exit struct {
	Code   int // exit code, if Signal is 0
	Signal int
	At     time.Time
	// CPU is the CPU time of the process and of the children it waited for.
	CPU time.Duration
	// MaxRSS is the kernel's peak for the largest of them, in bytes. It is
	// never below the peak of the process that started it.
	MaxRSS int64
	// Remains says that the process group has members left.
	Remains bool
}

// SpawnError says why a command could not be started.
type SpawnError struct {
	Err   error
	Errno int // 0 if unknown
	// OfCommand says that the command is at fault, not the node.
	OfCommand bool
}

// Error returns the cause's text.
func (e *SpawnError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SpawnError) Unwrap() error { return e.Err }

// ReturnCode is what a shell would say of an exit.
func (e *Exit) ReturnCode() int64 {
	if e.Signal != 0 {
		return int64(128 + e.Signal)
	}
	return int64(e.Code)
}

// AttemptKeyVariable is the variable that marks every process of an attempt, wherever it goes.
const AttemptKeyVariable = "TORC_ATTEMPT_KEY"
