// Package guard keeps other users from a listener that is not for them, by what the
// kernel tells of who makes a connection.
package guard

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/torc-slurm/torc-slurm/internal/peer"
)

// Peer is what the kernel tells about who made a connection.
type Peer struct {
	// Known says that it tells. It does not for callers on other hosts, and in
	// sandboxes.
	Known bool
	// UID is the user, if Known.
	UID uint32
	// Own says that it is the user who runs this process.
	Own bool
}

// Guard looks after listeners for callers on this host: it asks the kernel once for
// each connection who is at its other end, before a byte is read.
type Guard struct {
	// Shared lets in other users: their credentials decide. Otherwise their
	// connections are closed.
	Shared bool
	// Unknown decides about a connection of which the kernel does not tell who is at
	// the other end (peer.ErrUnknown): true if it stays, since credentials decide.
	// nil: none stays.
	Unknown func(c net.Conn, err error) bool
	Log     *slog.Logger
	// UID asks the kernel; peer.UID if nil.
	UID func(net.Conn) (uint32, error)

	foreign foreignLog
}

// Listener returns l with each connection guarded.
func (g *Guard) Listener(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	guard *Guard
}

// Accept waits for the next connection. It does not wait for what the kernel
// says of it: that is asked for by whoever reads from the connection.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, guard: l.guard}, nil
}

// conn is a connection whose other end is known before the first byte is read.
type conn struct {
	net.Conn
	guard *Guard
	once  sync.Once
	peer  Peer
	shut  bool
}

// Read reads from the connection; io.EOF if whoever is at the other end may not
// call.
func (c *conn) Read(p []byte) (int, error) {
	if c.ask(); c.shut {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// NetConn returns the connection below, as *tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// ask asks the kernel, the first time.
func (c *conn) ask() {
	c.once.Do(func() {
		var ok bool
		if c.peer, ok = c.guard.admit(c.Conn); !ok {
			c.shut = true
			_ = c.Conn.Close() // whoever is there gets no answer
		}
	})
}

// admit says who is at the other end of a connection, and whether the connection
// stays.
func (g *Guard) admit(c net.Conn) (Peer, bool) {
	ask := g.UID
	if ask == nil {
		ask = peer.UID
	}
	uid, err := ask(c)
	switch {
	case errors.Is(err, peer.ErrUnknown):
		return Peer{}, g.Unknown != nil && g.Unknown(c, err)
	case errors.Is(err, peer.ErrGone):
		return Peer{}, false
	case err != nil:
		g.Log.Error("cannot ask which user calls: the connection is closed", "address", c.RemoteAddr().String(), "error", err)
		return Peer{}, false
	}
	p := Peer{Known: true, UID: uid, Own: uid == uint32(os.Geteuid())}
	if !p.Own && !g.Shared {
		g.foreign.note(g.Log, c.RemoteAddr(), uid)
		return p, false
	}
	return p, true
}

type peerKey struct{}

// ConnContext is for http.Server: it has requests know the connection that they
// come by.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if guarded, ok := c.(*conn); ok {
		return context.WithValue(ctx, peerKey{}, guarded)
	}
	return ctx
}

// PeerOf returns what the kernel tells of who makes the request of ctx; not Known
// for a connection that no Guard looks after.
func PeerOf(ctx context.Context) Peer {
	if c, ok := ctx.Value(peerKey{}).(*conn); ok {
		c.ask()
		return c.peer
	}
	return Peer{}
}
