// Package peer asks the kernel which user is at the other end of a connection on this
// host. For a Unix socket that is SO_PEERCRED. For TCP on the loopback interface it is the
// user of the other socket, from netlink (sock_diag(7)), or from /proc/net/tcp and
// /proc/net/tcp6.
package peer

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

var (
	// ErrUnknown says that the kernel does not report the user: the peer is on another
	// host, or this process is in a sandbox without netlink and /proc. A peer cannot cause
	// it.
	ErrUnknown = errors.New("the kernel does not report which user is at the other end of the connection")
	// ErrGone says that the peer has closed the connection or does not accept it.
	ErrGone = errors.New("the connection has no other end")
)

// Unmapped is the uid of a user who is not mapped into this user namespace. No user has
// it: chown(2) uses it for "no change".
const Unmapped uint32 = 1<<32 - 1

// UID returns the uid of the process that created the socket at the other end of a
// connection, or, before the connection is accepted, of the one that listens there. It
// works for both sides of Unix sockets, and of TCP connections within this host. The error
// wraps ErrUnknown or ErrGone, or is a temporary failure, such as too many open files.
func UID(conn net.Conn) (uint32, error) {
	for {
		inner, ok := conn.(interface{ NetConn() net.Conn }) // of *tls.Conn
		if !ok {
			break
		}
		conn = inner.NetConn()
	}
	if c, ok := conn.(*net.UnixConn); ok {
		return unixUID(c)
	}
	remote, ok := addrPort(conn.RemoteAddr())
	local, ok2 := addrPort(conn.LocalAddr())
	if !ok || !ok2 || !remote.Addr().IsLoopback() && remote.Addr() != local.Addr() {
		return 0, fmt.Errorf("%s is not on this host: %w", conn.RemoteAddr(), ErrUnknown)
	}
	return firstTable(func(ask table) (uint32, error) { return peerUID(ask, remote, local) })
}

// addrPort returns the address of one end of a TCP connection, with IPv4 addresses
// unmapped from IPv6.
func addrPort(a net.Addr) (netip.AddrPort, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), ap.IsValid()
}

// listenerAddress returns the remote address of a listening socket.
func listenerAddress(like netip.AddrPort) netip.AddrPort {
	if like.Addr().Is4() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
}

// socket is what the kernel reports about a TCP socket.
type socket struct {
	state uint8
	uid   uint32
	// inode is 0 for a socket without a process: before accept(2), after close(2), in
	// TIME_WAIT. Its uid is then 0, which is not root, or, since Linux 6.17, that of the
	// listener (before accept) or of the former owner. Seen on 6.18: 65534 before accept
	// and in FIN_WAIT1, 0 in TIME_WAIT.
	inode uint32
	// cookie identifies the socket as long as it exists; 0 if the table has none.
	cookie uint64
}

// table returns the TCP socket with these addresses: that of the connection, else the one
// that listens on local, else errAbsent.
type table func(local, remote netip.AddrPort) (socket, error)

var (
	errAbsent  = errors.New("no such socket")
	errNoTable = errors.New("the kernel does not list sockets in this way")
)

// A server with too many waiting connections may accept one within acceptTime.
const (
	acceptTime = 2 * time.Second
	acceptPoll = time.Millisecond // doubles with each try
)

// peerUID returns the uid of the socket at the remote end of a connection.
func peerUID(ask table, remote, local netip.AddrPort) (uint32, error) {
	end := time.Now().Add(acceptTime)
	for wait := acceptPoll; ; wait *= 2 {
		uid, final, err := askOnce(ask, remote, local)
		if final || time.Now().After(end) {
			return uid, err
		}
		time.Sleep(wait)
	}
}

// askOnce asks once. If the answer is not final, a retry may give another one.
func askOnce(ask table, remote, local netip.AddrPort) (uid uint32, final bool, err error) {
	there, err := ask(remote, local)
	switch {
	case errors.Is(err, errAbsent), err == nil && there.state == unix.BPF_TCP_LISTEN:
		// Our end can be established while the other does not exist, for example while too
		// many connections wait to be accepted.
		here, err := ask(local, remote)
		if err == nil && here.state == unix.BPF_TCP_ESTABLISHED {
			return 0, false, fmt.Errorf("%s does not accept connections: %w", remote, ErrGone)
		}
		return 0, true, fmt.Errorf("%s: %w", remote, ErrGone)
	case err != nil:
		return 0, true, err
	case there.inode != 0:
		uid, err := mapped(there.uid)
		return uid, true, err
	case there.state == unix.BPF_TCP_SYN_RECV:
		return 0, false, fmt.Errorf("%s does not accept connections: %w", remote, ErrGone)
	case there.state != unix.BPF_TCP_ESTABLISHED:
		return 0, true, fmt.Errorf("%s has closed the connection: %w", remote, ErrGone)
	}
	// Established, but not accepted. The kernel resets such a connection when its listener
	// is closed, and an address has listeners of one user at a time. So if the same
	// connection exists before and after, the listener found is its own.
	listener, err := ask(remote, listenerAddress(remote))
	if err != nil && !errors.Is(err, errAbsent) {
		return 0, true, err
	}
	again, err2 := ask(remote, local)
	if err == nil && err2 == nil && listener.state == unix.BPF_TCP_LISTEN && listener.inode != 0 &&
		again.state == unix.BPF_TCP_ESTABLISHED && again.inode == 0 && again.cookie == there.cookie {
		uid, err := mapped(listener.uid)
		return uid, true, err
	}
	return 0, false, fmt.Errorf("%s: %w", remote, ErrGone)
}

// unixUID returns the uid of the process at the other end of a Unix socket that connected,
// or that called listen(2).
func unixUID(c *net.UnixConn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("query the other end of a socket: %w", err)
	}
	var cred *unix.Ucred
	if e := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil {
		err = e
	}
	if err != nil {
		return 0, fmt.Errorf("query the other end of a socket: %w", err)
	}
	return mapped(cred.Uid)
}
