// Package socket listens on a Unix socket in a folder that only its user can write to, if
// there is one. In a temporary directory it uses a folder with an unpredictable name,
// because other users can create files there.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// Folders are where a socket may be, in the order of preference. Folders that are empty,
// missing or unsafe are skipped.
type Folders struct {
	Runtime string // $XDG_RUNTIME_DIR: closed to other users
	State   string // the user's folder for persistent state
	// Temp are where a folder with an unpredictable name is created; nil for the temporary
	// directory, and /tmp, in case the path of the former is too long.
	Temp []string
}

// prefix is the beginning of the names of sockets, and of folders created for them.
const prefix = "torc-slurm-"

// maxPath is the longest path of a socket (sun_path without its final zero).
const maxPath = 107

// Listener is a listener on a Unix socket.
type Listener struct {
	net.Listener
	path    string
	private string // the folder that was created for it, if any
}

// Path returns the path of the socket.
func (l *Listener) Path() string { return l.path }

// Close closes the listener and removes the socket, and the folder that was created for
// it.
func (l *Listener) Close() error {
	err := l.Listener.Close() // removes the socket
	if l.private != "" {
		_ = os.Remove(l.private) // it may be removed already, or contain other files
	}
	return err
}

// Listen listens on a socket with a name in the first folder that is usable. former is the
// path of the socket of an earlier daemon of the same name, empty if there was none; it is
// reused or removed. The error says why each folder is unusable.
func Listen(folders Folders, name, former string) (*Listener, error) {
	l, err := listen(folders, prefix+name+".sock", former)
	if former != "" && (l == nil || former != l.path) {
		clean(former)
	}
	return l, err
}

func listen(folders Folders, name, former string) (*Listener, error) {
	var problems []error
	for _, candidate := range []struct {
		dir   string
		check func(dir string) error
	}{
		{folders.Runtime, trustedfile.CheckPrivate},
		{folders.State, trustedfile.CheckFolder},
	} {
		if candidate.dir == "" {
			continue
		}
		l, err := listenIn(candidate.dir, name, candidate.check)
		if err == nil {
			return l, nil
		}
		problems = append(problems, err)
	}
	if dir := filepath.Dir(former); isPrivate(dir) {
		l, err := listenIn(dir, name, trustedfile.CheckPrivate)
		if err == nil {
			l.private = dir
			return l, nil
		}
		problems = append(problems, err)
	}
	if folders.Temp == nil {
		folders.Temp = slices.Compact([]string{filepath.Clean(os.TempDir()), "/tmp"})
	}
	for _, in := range folders.Temp {
		l, err := listenInNew(in, name)
		if err == nil {
			return l, nil
		}
		problems = append(problems, err)
	}
	return nil, errors.Join(problems...)
}

// listenInNew listens in a new folder.
func listenInNew(in, name string) (*Listener, error) {
	dir, err := os.MkdirTemp(in, prefix) // 0700
	if err != nil {
		return nil, fmt.Errorf("create a folder for a socket: %w", err)
	}
	l, err := listenIn(dir, name, trustedfile.CheckPrivate)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	l.private = dir
	return l, nil
}

func listenIn(dir, name string, check func(dir string) error) (*Listener, error) {
	path := filepath.Join(dir, name)
	switch {
	case !filepath.IsAbs(path):
		return nil, fmt.Errorf("folder for a socket: %s is not an absolute path", dir)
	case len(path) > maxPath:
		return nil, fmt.Errorf("folder for a socket: the path of %s is too long", dir)
	}
	if err := check(dir); err != nil {
		return nil, fmt.Errorf("folder for a socket: %w", err)
	}
	if err := removeDead(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on a socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on a socket: %w", err), l.Close())
	}
	return &Listener{Listener: l, path: path}, nil
}

// removeDead removes a socket on which no process listens.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("check a socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket", path)
	}
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("another process listens on %s", path), c.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("another process may listen on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a dead socket: %w", err)
	}
	return nil
}

// clean removes the socket and folder of a daemon that was killed, if they are ours.
func clean(former string) {
	dir := filepath.Dir(former)
	if !filepath.IsAbs(former) || !strings.HasPrefix(filepath.Base(former), prefix) || trustedfile.CheckFolder(dir) != nil {
		return
	}
	if removeDead(former) == nil && isPrivate(dir) {
		_ = os.Remove(dir) // it may contain other files
	}
}

// isPrivate reports whether a folder was created for a socket.
func isPrivate(dir string) bool {
	return strings.HasPrefix(filepath.Base(dir), prefix) && trustedfile.CheckPrivate(dir) == nil
}
