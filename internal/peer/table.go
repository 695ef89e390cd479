package peer

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// source is a way to find sockets, and whether it works in this process.
type source struct {
	ask table

	mu     sync.Mutex
	tested bool
	works  bool
}

// sources are the ways to find sockets, the best first.
var sources = []*source{{ask: askNetlink}, {ask: askProc}}

// firstTable uses the first table that works. It returns ErrUnknown if there is none.
func firstTable(ask func(table) (uint32, error)) (uint32, error) {
	for _, s := range sources {
		ok, err := s.usable()
		if err != nil {
			return 0, err
		}
		if ok {
			return ask(s.ask)
		}
	}
	return 0, ErrUnknown
}

// usable reports whether a table has a socket of our own with the right user. In sandboxes
// it may be missing, empty, or without users. The result is kept, so that others cannot
// change it later.
func (s *source) usable() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tested {
		return s.works, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false, fmt.Errorf("ask the kernel for sockets: %w", err)
	}
	defer l.Close() //nolint:errcheck // nobody connects
	at, _ := addrPort(l.Addr())
	own, err := s.ask(at, listenerAddress(at))
	if err != nil && !errors.Is(err, errAbsent) && !errors.Is(err, errNoTable) {
		return false, fmt.Errorf("ask the kernel for sockets: %w", err)
	}
	s.tested = true
	s.works = err == nil && own.inode != 0 && own.uid == uint32(os.Geteuid())
	return s.works, nil
}
