package gateway

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// bounded is a listener with a limited number of connections.
type bounded struct {
	net.Listener
	slots   chan struct{}
	closing chan struct{}
	close   sync.Once
}

func newBounded(l net.Listener, most int) *bounded {
	return &bounded{Listener: l, slots: make(chan struct{}, most), closing: make(chan struct{})}
}

// Accept waits for a free slot and the next connection.
func (l *bounded) Accept() (net.Conn, error) {
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
	return &boundedConn{Conn: c, slots: l.slots}, nil
}

// Close ends a waiting Accept.
func (l *bounded) Close() error {
	l.close.Do(func() { close(l.closing) })
	return l.Listener.Close()
}

// boundedConn is a connection that has a slot.
type boundedConn struct {
	net.Conn
	slots chan struct{}
	close sync.Once
}

// NetConn returns the connection below, as *tls.Conn does.
func (c *boundedConn) NetConn() net.Conn { return c.Conn }

// Close closes the connection and frees its slot.
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.close.Do(func() { <-c.slots })
	return err
}

// checkPeerUID returns peer.ErrUnknown if the kernel does not report the user at the
// other end of a connection, and other errors of the connection to itself that it opens.
func checkPeerUID(uid func(net.Conn) (uint32, error)) error {
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
	for range 16 { // another process may connect first
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
	return fmt.Errorf("other processes connect to %s", l.Addr())
}
