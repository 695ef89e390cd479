package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// askProc finds a socket in /proc/net/tcp and /proc/net/tcp6, which list all TCP sockets
// of the network namespace. With thousands of sockets it takes milliseconds.
func askProc(local, remote netip.AddrPort) (socket, error) {
	files, err := procfs.NewFS("/proc")
	if err != nil {
		return socket{}, fmt.Errorf("%w: %w", errNoTable, err)
	}
	rows, err := files.NetTCP() //nolint:staticcheck // it works, and is a dependency already
	if err != nil {
		return socket{}, procError(err)
	}
	rows6, err := files.NetTCP6()                      //nolint:staticcheck // it works, and is a dependency already
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // there may be no IPv6
		return socket{}, procError(err)
	}
	best, found := 0, socket{}
	for _, row := range append(rows, rows6...) {
		at, ok := netip.AddrFromSlice(row.LocalAddr)
		to, ok2 := netip.AddrFromSlice(row.RemAddr)
		if !ok || !ok2 || row.LocalPort != uint64(local.Port()) {
			continue
		}
		rank := 0
		switch {
		case row.RemPort == uint64(remote.Port()) && at.Unmap() == local.Addr() && to.Unmap() == remote.Addr():
			rank = 4 // the connection, or the listener if that was asked for
		case row.St != unix.BPF_TCP_LISTEN:
		case at.Unmap() == local.Addr():
			rank = 3
		case at.IsUnspecified() && at.Is4() == local.Addr().Is4():
			rank = 2
		case at.IsUnspecified() && at.Is6():
			rank = 1 // takes IPv4, too, unless told otherwise
		}
		if rank > best {
			best = rank
			found = socket{state: uint8(row.St), uid: uint32(row.UID), inode: uint32(row.Inode)}
		}
	}
	if best == 0 {
		return socket{}, errAbsent
	}
	return found, nil
}

// procError distinguishes files that do not exist, or that we may not read, from temporary
// failures.
func procError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, procfs.ErrFileParse) {
		return fmt.Errorf("%w: %w", errNoTable, err)
	}
	return fmt.Errorf("read the sockets of /proc: %w", err)
}
