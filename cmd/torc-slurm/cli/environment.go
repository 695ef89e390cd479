package cli

import (
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Environment is everything that the program gets from its process, so that a test can run
// a command within its own process.
type Environment struct {
	Args           []string // Args[0] is the name by which the program was called
	Environ        []string // NAME=value
	Dir            string   // current directory, absolute
	Executable     string   // this program, to start it again
	LoginName      string   // of the user, if no variable has it
	LoginHome      string   // of the user, if no variable has it; empty if unknown
	Stdin          io.Reader
	Stdout         io.Writer
	Stderr         io.Writer
	StdinTerminal  bool
	StdoutTerminal bool
	StderrTerminal bool
	// Width returns the width of the terminal in columns, 0 if there is none.
	Width func() int
	Now   func() time.Time
	// Signals delivers SIGINT, SIGTERM and SIGHUP.
	Signals <-chan os.Signal
	// StopSignals ends their delivery.
	StopSignals func()
	// SnapshotSignals starts the delivery of SIGUSR1, which otherwise ends the program,
	// until stop is called.
	SnapshotSignals func() (signals <-chan os.Signal, stop func())
}

// ProcessEnvironment returns the environment of this process.
func ProcessEnvironment() Environment {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	// If these fail, the functions that need them return an error.
	dir, _ := os.Getwd()
	executable, _ := os.Executable()
	login, home := strconv.Itoa(os.Getuid()), ""
	if u, err := user.Current(); err == nil {
		login, home = u.Username, u.HomeDir
	}
	return Environment{
		Args: os.Args, Environ: os.Environ(), Dir: dir, Executable: executable, LoginName: login, LoginHome: home,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width:          terminalWidth,
		Now:            time.Now,
		Signals:        signals,
		StopSignals:    func() { signal.Stop(signals) },
		SnapshotSignals: func() (<-chan os.Signal, func()) {
			snapshots := make(chan os.Signal, 1) // a pending signal counts for all
			signal.Notify(snapshots, syscall.SIGUSR1)
			return snapshots, func() { signal.Stop(snapshots) }
		},
	}
}

func terminalWidth() int {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// Getenv returns the value of a variable, empty if it is not set.
func (e *Environment) Getenv(name string) string {
	value, _ := e.lookupEnv(name)
	return value
}

// lookupEnv returns the value of a variable; the last one, as in a shell.
func (e *Environment) lookupEnv(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Path returns a path of the user as an absolute path.
func (e *Environment) Path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(e.Dir, name)
}

// User returns the user name of new workflows.
func (e *Environment) User() string {
	for _, name := range []string{"TORC_USERNAME", "USER", "LOGNAME", "USERNAME"} {
		if value := e.Getenv(name); value != "" {
			return value
		}
	}
	return e.LoginName
}

// Home returns the folder of the user's own daemon.
func (e *Environment) Home() string {
	if dir := e.Getenv("TORC_HOME"); dir != "" {
		return e.Path(dir)
	}
	if dir := e.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "torc-slurm")
	}
	return filepath.Join(e.userHome(), ".local", "state", "torc-slurm")
}

// CheckHome returns an error if the folder of the user's own daemon is unknown.
func (e *Environment) CheckHome() error {
	if e.userHome() != "/" || e.Getenv("TORC_HOME") != "" || filepath.IsAbs(e.Getenv("XDG_STATE_HOME")) {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalid, "the folder of your daemon is unknown: HOME is not an absolute path, and the system has no home of yours").
		WithHint("set HOME to your home, or TORC_HOME to a writable folder")
}

// userHome returns the user's home as an absolute path; the root if it is unknown.
func (e *Environment) userHome() string {
	for _, dir := range []string{e.Getenv("HOME"), e.LoginHome} {
		if filepath.IsAbs(dir) {
			return dir
		}
	}
	return "/"
}

// UserConfigDir returns the folder of the user's configuration files.
func (e *Environment) UserConfigDir() string {
	if dir := e.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(e.userHome(), ".config")
}
