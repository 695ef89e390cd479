package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Executor starts the commands of a runner. A Spawner starts processes; benchmarks use
// executors that start none.
type Executor interface {
	// Start starts a command and returns its process id, 0 if it has no process. If err
	// is nil, exited is called exactly once, from any goroutine and perhaps before
	// Start returns. A *SpawnError says whether the command or the node is at fault.
	Start(c *Command, exited func(Exit)) (pid int, err error)
}

// Ender is an Executor whose commands have no processes that the runner could signal.
type Ender interface {
	Executor
	// Signal signals the command that was started with this key in TORC_ATTEMPT_KEY. It
	// ignores one that has ended.
	Signal(key string, signal unix.Signal)
}

// Command is what an Executor starts.
type Command struct {
	Argv []string // Argv[0] is an absolute path
	Env  []string
	Dir  string // empty for that of the runner
	// Stdout and Stderr are paths of files that do not exist yet; empty to
	// discard. Equal paths are opened once.
	Stdout, Stderr string
}

// Exit says how a command ended.
type Exit struct {
	Code   int // exit code, if Signal is 0
	Signal int
	At     time.Time
	// CPU is the CPU time of the process and of the children that it waited for.
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

// Error returns the text of Err.
func (e *SpawnError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *SpawnError) Unwrap() error { return e.Err }

// ReturnCode returns the code that a shell would report.
func (e *Exit) ReturnCode() int64 {
	if e.Signal != 0 {
		return int64(128 + e.Signal)
	}
	return int64(e.Code)
}

// AttemptKeyVariable is the environment variable that marks every process of an attempt.
const AttemptKeyVariable = "TORC_ATTEMPT_KEY"
