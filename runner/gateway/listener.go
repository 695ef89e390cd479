package gateway

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/peer"
)

// ownOnly is a listener whose connections are read from only if the user who runs
// this process is at the other end. It has a limited number of them.
type ownOnly struct {
	net.Listener
	uid     func(net.Conn) (uint32, error)
	untold  bool // the kernel tells nothing; a token decides
	log     *slog.Logger
	slots   chan struct{}
	closing chan struct{}
	close   sync.Once

	mu     sync.Mutex
	logged time.Time // latest line about another user
}

func newOwnOnly(l net.Listener, o Options, untold bool) *ownOnly {
	return &ownOnly{
		Listener: l, uid: o.PeerUID, untold: untold, log: o.Log,
		slots: make(chan struct{}, maxConnections), closing: make(chan struct{}),
	}
}

// Accept waits for a free place and the next connection. Whose it is, is asked by
// the goroutine that reads from it.
func (l *ownOnly) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closing:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &ownConn{Conn: c, l: l}, nil
}

// Close ends a waiting Accept.
func (l *ownOnly) Close() error {
	l.close.Do(func() { close(l.closing) })
	return l.Listener.Close()
}

// admits reports whether a connection may be read from.
func (l *ownOnly) admits(c net.Conn) bool {
	uid, err := l.uid(c)
	switch {
	case errors.Is(err, peer.ErrUnknown):
		return l.untold
	case err != nil:
		return false
	case uid == uint32(os.Geteuid()):
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.logged) > time.Minute { // they can come as often as they like
		l.logged = now
		l.log.Warn("another user's connection was closed", "uid", uid, "address", c.RemoteAddr().String())
	}
	return false
}

// ownConn is a connection that ends at its first read if it is another user's.
type ownConn struct {
	net.Conn
	l     *ownOnly
	ask   sync.Once
	shut  bool
	close sync.Once
}

// Read reads from the connection; io.EOF if another user is at the other end.
func (c *ownConn) Read(p []byte) (int, error) {
	c.ask.Do(func() {
		if !c.l.admits(c.Conn) {
			c.shut = true
			_ = c.Close() // nothing was read, and there is no answer
		}
	})
	if c.shut {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// Close ends the connection and gives its place to another.
func (c *ownConn) Close() error {
	err := c.Conn.Close()
	c.close.Do(func() { <-c.l.slots })
	return err
}

// canTell returns peer.ErrUnknown if the kernel does not tell who is at the other
// end of connections on this host. It makes one to itself.
func canTell(uid func(net.Conn) (uint32, error)) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	there, err := net.DialTimeout("tcp4", l.Addr().String(), time.Second)
	if err != nil {
		return err
	}
	defer there.Close() //nolint:errcheck // nothing was sent
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	for range 16 { // somebody else may have been first
		here, err := l.Accept()
		if err != nil {
			return err
		}
		_, asked := uid(here)
		own := here.RemoteAddr().String() == there.LocalAddr().String()
		_ = here.Close() // nothing was sent
		if own {
			return asked
		}
	}
	return fmt.Errorf("others connect to %s", l.Addr())
}
