package server

import (
	"errors"
	"net"
	"strconv"
	"syscall"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// listenTCP listens on host and port; port 0 means a free one.
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

// isLoopback reports whether only this host can reach an address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
