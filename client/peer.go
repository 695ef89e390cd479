package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// foreignError says that a port or socket belongs to another user. Nothing was
// sent.
type foreignError struct{ why *workflow.Error }

func (e *foreignError) Error() string { return e.why.Error() }
func (e *foreignError) Unwrap() error { return e.why }

// IsOtherUser reports whether a call was not made because another user listens
// where the server should.
func IsOtherUser(err error) bool {
	var e *foreignError
	return errors.As(err, &e)
}

// listenerCheck dials without TLS, and asks the kernel who listens before
// anything is sent: it has to be the user who runs this program.
type listenerCheck struct {
	dialer net.Dialer
	locate func() Place // where to connect to instead of the address; may be nil
	given  bool         // requests carry what the user gave by himself
	uid    func(net.Conn) (uint32, error)
	log    *slog.Logger

	elsewhere atomic.Bool // the server is on another host
	untold    sync.Once
}

// dial connects to where the server is. If its socket cannot be reached, for example
// since a cleaner has removed the folder, there is its port.
func (l *listenerCheck) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var at Place
	if l.locate != nil {
		at = l.locate()
	}
	if at.Socket != "" {
		c, err := l.dialSocket(ctx, at.Socket)
		if err == nil {
			return c, nil
		}
		l.log.Debug("the socket of the server cannot be used, its port may do", "socket", at.Socket, "error", err)
	}
	return l.dialChecked(ctx, network, cmp.Or(at.Address, address))
}

// dialSocket connects to a Unix socket in whose folder nobody else can have put it.
func (l *listenerCheck) dialSocket(ctx context.Context, path string) (net.Conn, error) {
	if err := trustedfile.CheckFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return l.dialChecked(ctx, "unix", path)
}

func (l *listenerCheck) dialChecked(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := l.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := l.check(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// check returns an error unless requests may go over a new connection.
func (l *listenerCheck) check(c net.Conn) error {
	uid, err := l.uid(c)
	switch {
	case errors.Is(err, peer.ErrUnknown):
		return l.unknown(c, err)
	case err != nil: // nothing was sent
		return &net.OpError{Op: "dial", Net: c.RemoteAddr().Network(), Addr: c.RemoteAddr(), Err: err}
	case uid != uint32(os.Geteuid()):
		return foreign(c.RemoteAddr(), uid)
	}
	return nil
}

// unknown decides about a connection of which the kernel does not tell who
// listens.
func (l *listenerCheck) unknown(c net.Conn, err error) error {
	at, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		l.untold.Do(func() {
			l.log.Info("the kernel does not tell who listens, as in some sandboxes: the server is asked to know the token", "address", c.RemoteAddr().String(), "error", err)
		})
		return nil
	}
	l.elsewhere.Store(true)
	if !l.given {
		return nil
	}
	return &foreignError{workflow.Errorf(workflow.CodeForbidden, "a password or cookie is not sent to %s without encryption", c.RemoteAddr()).
		WithHint("use a URL that begins with https://")}
}

// foreign is the error about a listener of another user.
func foreign(address net.Addr, uid uint32) error {
	where := "socket " + address.String()
	if at, ok := address.(*net.TCPAddr); ok {
		where = "port " + strconv.Itoa(at.Port)
	}
	user := fmt.Sprintf("another user (uid %d)", uid)
	if uid == peer.Unmapped {
		user = "a user outside of this user namespace"
	}
	return &foreignError{workflow.Errorf(workflow.CodeForbidden, "%s belongs to %s", where, user).
		WithHint("nothing was sent. If it is where your daemon was, that has ended: leave out --url and TORC_API_URL, and your own daemon is found or started. A server that others share is reached by https")}
}

// dialTime bounds how long connecting takes.
const dialTime = 10 * time.Second
