package process

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spawner starts each command as the leader of its own session. It sets no parent-death
// signal, which would fire when the starting thread ends. Leftovers are ended by the next
// runner or the daemon instead.
type Spawner struct {
	null int // an open /dev/null
	log  *slog.Logger
}

// NewSpawner returns an Executor of processes. It returns an error if this process cannot
// become the subreaper for their orphans.
func NewSpawner(log *slog.Logger) (*Spawner, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	if err := children.acquire(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Spawner{null: fd, log: log}, nil
}

// Close stops waiting for processes. All of them must have ended.
func (e *Spawner) Close() {
	children.release()
	unix.Close(e.null)
}

// Start opens the command's files and starts its process.
func (e *Spawner) Start(c *Command, exited func(Exit)) (int, error) {
	stdout, err := e.open(c.Stdout)
	if err != nil {
		return 0, err
	}
	defer e.closeFile(stdout)
	stderr := stdout
	if c.Stderr != c.Stdout {
		if stderr, err = e.open(c.Stderr); err != nil {
			return 0, err
		}
		defer e.closeFile(stderr)
	}
	pid, err := children.start(c.Argv, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: []uintptr{uintptr(e.null), uintptr(stdout), uintptr(stderr)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}, exited)
	if err != nil {
		return 0, spawnError(c, err)
	}
	return pid, nil
}

// open creates an output file. An existing file has the output of an unreported start,
// whose runner was killed just after it. It is renamed; processes may still write to it.
func (e *Spawner) open(path string) (int, error) {
	if path == "" {
		return e.null, nil
	}
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_APPEND | unix.O_CLOEXEC
	fd, err := openRetry(path, flags|unix.O_EXCL)
	if errors.Is(err, unix.ENOENT) && os.MkdirAll(filepath.Dir(path), 0o777) == nil {
		fd, err = openRetry(path, flags|unix.O_EXCL) // the directory was removed
	}
	if errors.Is(err, unix.EEXIST) {
		var aside string
		if aside, err = setAside(path); err == nil {
			e.log.Warn("an output file exists already and is renamed", "path", path, "aside", aside)
			fd, err = openRetry(path, flags|unix.O_EXCL)
		}
	}
	if err != nil {
		return 0, NodeFault(fmt.Errorf("open output file %s: %w", path, err))
	}
	return fd, nil
}

// setAside appends the first free number to the name of a file, and returns the new name.
func setAside(path string) (aside string, err error) {
	if isDirectory(path) {
		return "", unix.EISDIR
	}
	for n := 1; ; n++ {
		aside = path + "." + strconv.Itoa(n)
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			return aside, os.Rename(path, aside)
		} else if err != nil {
			return "", err
		}
	}
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags, 0o666)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (e *Spawner) closeFile(fd int) {
	if fd != e.null {
		unix.Close(fd)
	}
}

// NodeFault returns a SpawnError for which the node is at fault.
func NodeFault(err error) *SpawnError {
	s := &SpawnError{Err: err}
	var errno unix.Errno
	if errors.As(err, &errno) {
		s.Errno = int(errno)
	}
	return s
}

// spawnError explains why the process could not be started. The kernel has the same
// errno for a missing directory and a missing program.
func spawnError(c *Command, err error) *SpawnError {
	s := NodeFault(err)
	switch {
	case errors.Is(err, unix.E2BIG):
		s.Err = fmt.Errorf("command and environment are larger than the system allows: %w", err)
		s.OfCommand = true
	case errors.Is(err, unix.EINVAL):
		s.Err = fmt.Errorf("command or environment contains a NUL byte: %w", err)
		s.OfCommand = true
	case c.Dir != "" && !isDirectory(c.Dir):
		s.Err = fmt.Errorf("working directory %s: %w", c.Dir, err)
	default:
		s.Err = fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	return s
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
