package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// listenTCP listens on host and port; port 0 takes a free one.
func listenTCP(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, workflow.Errorf(workflow.CodeConflict, "port %d on %s is in use by another program", port, host).
			WithHint("choose another one with --port, or --port 0 for a free one")
	case errors.Is(err, syscall.EACCES):
		return nil, workflow.Errorf(workflow.CodeForbidden, "port %d on %s: permission denied", port, host).
			WithHint("choose a port above 1023")
	case err != nil:
		return nil, workflow.Errorf(workflow.CodeInvalid, "listen on %s: %v", address, err).
			WithHint("give --host an address of this machine")
	}
	return l, nil
}

// listenUnix listens on a socket in the user's private folder below the
// temporary directory.
func listenUnix(path string) (net.Listener, error) {
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeDeadSocket(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

// maxSocketName is the length of the names in the folder for sockets, with the
// separator; maxSocketPath what the kernel allows for the whole.
const (
	maxSocketName = 1 + 2*8 + len(".sock")
	maxSocketPath = 107
)

// SocketDir is the folder for sockets of the current user on this host: in the
// temporary directory, unless its path is too long for a socket.
func SocketDir() string {
	name := "torc-slurm-" + strconv.Itoa(os.Getuid())
	dir := filepath.Join(os.TempDir(), name)
	if len(dir)+maxSocketName > maxSocketPath || !filepath.IsAbs(dir) {
		return filepath.Join("/tmp", name)
	}
	return dir
}

// privateDir makes sure that a folder is there, ours, and closed to others.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder for sockets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at folder for sockets: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return workflow.Errorf(workflow.CodeForbidden, "folder %s is not a private folder of yours", dir).
			WithHint("remove it, or set TMPDIR to a folder of your own")
	}
	return nil
}

// removeDeadSocket removes a socket on which nobody listens.
func removeDeadSocket(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if c, err := net.Dial("unix", path); err == nil {
		defer c.Close() //nolint:errcheck // nothing was sent
		return workflow.Errorf(workflow.CodeConflict, "a daemon (process %d) listens on %s already", peerPID(c), path).
			WithHint("use it, or end it with: kill %d", peerPID(c))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove dead socket: %w", err)
	}
	return nil
}

// isLoopback reports whether only this host can reach an address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// peerPID is the process at the other end of a Unix socket, 0 if the kernel does
// not say.
func peerPID(c net.Conn) (pid int32) {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = cred.Pid
		}
	})
	return pid
}
