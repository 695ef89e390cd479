// Package connlimit limits the connections of a listener, so that clients without
// credentials cannot block those with credentials: the number of connections, the time
// until their first request is admitted, and how long a peer may leave an answer unread.
//
// A listener that waits when it is full, like netutil.LimitListener, would make legitimate
// clients wait behind an attacker. This one keeps accepting, and closes another connection
// instead.
package connlimit

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options are the limits of one listener.
type Options struct {
	// Max is the number of connections.
	Max int
	// MaxPending is the number of connections that have not been admitted yet.
	MaxPending int
	// Grace is the time until a connection is admitted, including TLS handshake and
	// headers.
	Grace time.Duration
	// Stall is how long the peer may read nothing of what is written to it.
	Stall time.Duration
	// Closed, if not nil, is called for each connection that was closed for a limit.
	Closed func(remote net.Addr, why Reason)
}

// Reason is why a connection was closed.
type Reason string

// The limits.
const (
	Unread  Reason = "unread"  // its peer did not read an answer, and its memory was needed
	Late    Reason = "late"    // it was not admitted within the grace time
	Crowded Reason = "crowded" // too many were not admitted, most of them from its host
	Idle    Reason = "idle"    // it was idle, and all slots were taken
	Full    Reason = "full"    // it was new, and all slots had requests under way
)

// Listener is a listener with limits.
type Listener struct {
	net.Listener
	o Options

	mu      sync.Mutex
	conns   map[*conn]struct{} // all that are open
	pending map[*conn]struct{} // those that are not admitted
}

// New returns l with limits.
func New(l net.Listener, o Options) *Listener {
	return &Listener{Listener: l, o: o, conns: map[*conn]struct{}{}, pending: map[*conn]struct{}{}}
}

// Accept returns the next connection. If all slots are taken, it closes an idle
// connection, or the new one if there is none.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, listener: l, host: hostOf(inner.RemoteAddr()), opened: time.Now()}
		out, why := l.add(c)
		if out != nil {
			l.close(out, why)
		}
		if out == c {
			continue
		}
		return c, nil
	}
}

// add adds a connection. It returns the one to close for it, which may be c itself; nil if
// a slot is free.
func (l *Listener) add(c *conn) (out *conn, why Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.pending) >= max(l.o.MaxPending, 1), len(l.conns) >= l.o.Max && len(l.pending) > 0:
		out, why = l.oldestOfBusiestHost(), Crowded
	case len(l.conns) >= l.o.Max:
		if out, why = l.longestIdle(), Idle; out == nil {
			return c, Full
		}
	}
	if out != nil {
		l.forget(out)
	}
	l.conns[c], l.pending[c] = struct{}{}, struct{}{}
	c.late = time.AfterFunc(l.o.Grace, func() {
		if !c.admitted() {
			l.close(c, Late)
		}
	})
	return out, why
}

// oldestOfBusiestHost returns the oldest pending connection of the host with most of them.
// So a host displaces only its own, and clients with credentials are admitted at once.
func (l *Listener) oldestOfBusiestHost() *conn {
	of := map[string]int{}
	for c := range l.pending {
		of[c.host]++
	}
	var out *conn
	for c := range l.pending {
		if out == nil || of[c.host] > of[out.host] || of[c.host] == of[out.host] && c.opened.Before(out.opened) {
			out = c
		}
	}
	return out
}

// longestIdle returns the connection that has been idle for longest, nil if all have
// requests.
func (l *Listener) longestIdle() *conn {
	var out *conn
	for c := range l.conns {
		if !c.idle.IsZero() && (out == nil || c.idle.Before(out.idle)) {
			out = c
		}
	}
	return out
}

// forget frees the slot of a connection. The caller holds l.mu.
func (l *Listener) forget(c *conn) {
	delete(l.conns, c)
	delete(l.pending, c)
	if c.late != nil {
		c.late.Stop()
	}
}

func (l *Listener) close(c *conn, why Reason) {
	if l.o.Closed != nil { // before the peer notices
		l.o.Closed(c.RemoteAddr(), why)
	}
	_ = c.Close() // it is not used any more
}

// hostOf returns the host of an address, which is the same for all on a Unix socket.
func hostOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return ""
}

// conn is a connection with limits.
type conn struct {
	net.Conn
	listener *Listener
	host     string
	opened   time.Time
	late     *time.Timer

	idle time.Time // since when it has no request; guarded by listener.mu

	writing sync.Mutex
	until   time.Time // the deadline for writing; guarded by writing
}

// NetConn returns the connection below, as *tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }

func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.forget(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// admitted reports whether a connection has been admitted, or is closed.
func (c *conn) admitted() bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	_, pending := c.listener.pending[c]
	return !pending
}

// writeSize is how much is written between two checks of the deadline.
const writeSize = 64 << 10

// Write writes p. It returns os.ErrDeadlineExceeded when the peer has read nothing for
// Options.Stall.
func (c *conn) Write(p []byte) (written int, err error) {
	for first := true; first || len(p) > 0; first = false {
		if err := c.extendDeadline(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[:min(len(p), writeSize)])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// extendDeadline extends the deadline for writing if most of it has passed. Setting it
// costs as much as a short answer.
func (c *conn) extendDeadline() error {
	if c.listener.o.Stall <= 0 {
		return nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	now := time.Now()
	if c.until.Sub(now) > c.listener.o.Stall/2 {
		return nil
	}
	c.until = now.Add(c.listener.o.Stall)
	return c.Conn.SetWriteDeadline(c.until)
}

// SetWriteDeadline sets the deadline for what is written next.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.until = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets the deadlines for reading and writing.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

type key struct{}

// Context stores a connection in the context of its requests. It is the ConnContext of an
// http.Server.
func Context(ctx context.Context, c net.Conn) context.Context {
	if limited := find(c); limited != nil {
		return context.WithValue(ctx, key{}, limited)
	}
	return ctx
}

// Admit marks the connection of the request of ctx as admitted.
func Admit(ctx context.Context) {
	c, ok := ctx.Value(key{}).(*conn)
	if !ok {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if _, pending := c.listener.pending[c]; pending {
		delete(c.listener.pending, c)
		c.late.Stop()
	}
}

// Close closes the connection of the request of ctx, whose peer leaves an answer unread.
func Close(ctx context.Context) {
	if c, ok := ctx.Value(key{}).(*conn); ok {
		c.listener.close(c, Unread)
	}
}

// State records which connections are idle. It is the ConnState of an http.Server.
func State(c net.Conn, s http.ConnState) {
	limited := find(c)
	if limited == nil {
		return
	}
	limited.listener.mu.Lock()
	defer limited.listener.mu.Unlock()
	limited.idle = time.Time{}
	if s == http.StateIdle {
		limited.idle = time.Now()
	}
}

// find returns the limited connection below c; nil if there is none.
func find(c net.Conn) *conn {
	for c != nil {
		switch on := c.(type) {
		case *conn:
			return on
		case interface{ NetConn() net.Conn }: // *tls.Conn is one
			c = on.NetConn()
		default:
			return nil
		}
	}
	return nil
}
