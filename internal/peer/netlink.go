package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Messages of sock_diag(7), in the order of linux/inet_diag.h. Ports and
// addresses are in network byte order.
type (
	diagAddresses struct { // struct inet_diag_sockid
		localPort, remotePort [2]byte
		local, remote         [16]byte
		iface                 uint32
		cookie                [8]byte
	}
	diagRequest struct { // struct inet_diag_req_v2
		header             unix.NlMsghdr
		family, protocol   uint8
		extensions, unused uint8
		states             uint32
		addresses          diagAddresses
	}
	diagAnswer struct { // struct inet_diag_msg
		family, state, timer, retransmissions uint8
		addresses                             diagAddresses
		expires, receiveQueue, sendQueue      uint32
		uid, inode                            uint32
	}
)

const sockDiagByFamily = 20 // SOCK_DIAG_BY_FAMILY

// askNetlink finds a socket by its addresses, as the kernel finds the receiver of a
// packet: the connection, else the listener. For IPv4 it also finds the IPv4 connections
// of IPv6 sockets.
func askNetlink(local, remote netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return socket{}, netlinkError(err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return socket{}, netlinkError(err)
	}
	req := diagRequest{
		header: unix.NlMsghdr{Type: sockDiagByFamily, Flags: unix.NLM_F_REQUEST, Seq: 1},
		family: unix.AF_INET6, protocol: unix.IPPROTO_TCP, states: ^uint32(0),
	}
	req.header.Len = uint32(unsafe.Sizeof(req))
	for i := range req.addresses.cookie {
		req.addresses.cookie[i] = 0xff // INET_DIAG_NOCOOKIE
	}
	if local.Addr().Is4() {
		req.family = unix.AF_INET
	}
	copy(req.addresses.local[:], local.Addr().AsSlice())
	copy(req.addresses.remote[:], remote.Addr().AsSlice())
	binary.BigEndian.PutUint16(req.addresses.localPort[:], local.Port())
	binary.BigEndian.PutUint16(req.addresses.remotePort[:], remote.Port())
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(fd, unsafe.Slice((*byte)(unsafe.Pointer(&req)), unsafe.Sizeof(req)), 0, kernel); err != nil {
		return socket{}, netlinkError(err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	for errors.Is(err, unix.EINTR) {
		n, _, err = unix.Recvfrom(fd, answer, 0)
	}
	if err != nil {
		return socket{}, netlinkError(err)
	}
	return readAnswer(answer[:n])
}

// readAnswer returns the socket of a message, or its error.
func readAnswer(message []byte) (socket, error) {
	const head = unix.SizeofNlMsghdr
	if len(message) < head+4 {
		return socket{}, fmt.Errorf("netlink: answer of %d bytes", len(message))
	}
	switch kind := binary.NativeEndian.Uint16(message[4:]); {
	case kind == unix.NLMSG_ERROR:
		return socket{}, netlinkError(unix.Errno(-int32(binary.NativeEndian.Uint32(message[head:]))))
	case kind != sockDiagByFamily || len(message) < head+int(unsafe.Sizeof(diagAnswer{})):
		return socket{}, fmt.Errorf("netlink: answer of type %d with %d bytes", kind, len(message))
	}
	var a diagAnswer
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a)), message[head:])
	return socket{state: a.state, uid: a.uid, inode: a.inode, cookie: binary.NativeEndian.Uint64(a.addresses.cookie[:])}, nil
}

// netlinkError distinguishes a kernel without this interface, or which forbids it, from a
// missing socket and from temporary failures. ENOENT means either a missing socket or a
// missing module; a test with a socket of our own tells which.
func netlinkError(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return errAbsent
	case errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.ESOCKTNOSUPPORT),
		errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL),
		errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("netlink: %w: %w", errNoTable, err)
	}
	return fmt.Errorf("netlink: %w", err)
}
