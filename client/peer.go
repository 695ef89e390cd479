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

// foreignError is the error of a call that was not sent, since the port or socket belongs
// to another user.
type foreignError struct{ why *workflow.Error }

func (e *foreignError) Error() string { return e.why.Error() }
func (e *foreignError) Unwrap() error { return e.why }

// IsOtherUser reports whether a call was not sent because another user listens at the
// server's address.
func IsOtherUser(err error) bool {
	var e *foreignError
	return errors.As(err, &e)
}

// listenerCheck dials without TLS. Before anything is sent it asks the kernel which user
// listens, who has to be the user of this program.
type listenerCheck struct {
	dialer net.Dialer
	locate func() Place // where to connect to instead of the address; may be nil
	given  bool         // requests carry a password or cookie of the user
	uid    func(net.Conn) (uint32, error)
	log    *slog.Logger

	elsewhere atomic.Bool // the server is on another host
	untold    sync.Once
}

// dial connects to the server: to its port if its socket cannot be reached, for example
// since a cleanup has removed the folder.
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
		l.log.Debug("the server's socket cannot be used, trying its port", "socket", at.Socket, "error", err)
	}
	return l.dialChecked(ctx, network, cmp.Or(at.Address, address))
}

// dialSocket connects to a Unix socket whose folder no other user can write to.
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

// unknown checks a connection for which the kernel does not name the user who listens.
func (l *listenerCheck) unknown(c net.Conn, err error) error {
	at, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		l.untold.Do(func() {
			l.log.Info("the kernel does not name the user who listens, as in some sandboxes: the server has to prove that it knows the token", "address", c.RemoteAddr().String(), "error", err)
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

// foreign returns the error about a listener of another user.
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
		WithHint("nothing was sent. If this was your daemon's address, your daemon has ended: leave out --url and TORC_API_URL to find or start your own daemon. A shared server is reached by https")}
}

// dialTime is the timeout of connecting.
const dialTime = 10 * time.Second
