// Package guard rejects connections of other users to a listener, by what the kernel
// reports about their peers.
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

// Peer is what the kernel reports about the peer of a connection.
type Peer struct {
	// Known says that the kernel reports the user. It does not for other hosts, and in
	// some sandboxes.
	Known bool
	// UID is the user, if Known.
	UID uint32
	// Own says that it is the user who runs this process.
	Own bool
}

// Guard protects listeners for callers on this host. It asks the kernel for the user of
// each connection before it reads a byte.
type Guard struct {
	// Shared admits other users, who need credentials. Otherwise their connections are
	// closed.
	Shared bool
	// Unknown decides about a connection whose user is unknown (peer.ErrUnknown): true if
	// it stays and needs credentials; nil for false.
	Unknown func(c net.Conn, err error) bool
	Log     *slog.Logger
	// UID returns the user of a connection; peer.UID if nil.
	UID func(net.Conn) (uint32, error)

	foreign foreignLog
}

// Listener returns l with each connection guarded.
func (g *Guard) Listener(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	guard *Guard
}

// Accept waits for the next connection. It does not ask the kernel, which the first Read
// does.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, guard: l.guard}, nil
}

// conn is a connection whose user is identified before the first byte is read.
type conn struct {
	net.Conn
	guard *Guard
	once  sync.Once
	peer  Peer
	shut  bool
}

// Read reads from the connection; it returns io.EOF if its user is rejected.
func (c *conn) Read(p []byte) (int, error) {
	if c.identify(); c.shut {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// NetConn returns the connection below, as *tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// identify asks the kernel, once.
func (c *conn) identify() {
	c.once.Do(func() {
		var ok bool
		if c.peer, ok = c.guard.admit(c.Conn); !ok {
			c.shut = true
			_ = c.Conn.Close() // without an answer
		}
	})
}

// admit returns the peer of a connection, and whether the connection stays.
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
		g.Log.Error("cannot find out which user calls: the connection is closed", "address", c.RemoteAddr().String(), "error", err)
		return Peer{}, false
	}
	p := Peer{Known: true, UID: uid, Own: uid == uint32(os.Geteuid())}
	if !p.Own && !g.Shared {
		g.foreign.record(g.Log, c.RemoteAddr(), uid)
		return p, false
	}
	return p, true
}

type peerKey struct{}

// ConnContext stores the connection in the context of its requests, for http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if guarded, ok := c.(*conn); ok {
		return context.WithValue(ctx, peerKey{}, guarded)
	}
	return ctx
}

// PeerOf returns the peer of the request of ctx; not Known without a Guard.
func PeerOf(ctx context.Context) Peer {
	if c, ok := ctx.Value(peerKey{}).(*conn); ok {
		c.identify()
		return c.peer
	}
	return Peer{}
}
