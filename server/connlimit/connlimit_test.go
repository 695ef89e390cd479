package connlimit

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// fakeListener accepts the server's ends of pipes.
type fakeListener struct{ conns chan net.Conn }

func (l *fakeListener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *fakeListener) Close() error   { close(l.conns); return nil }
func (l *fakeListener) Addr() net.Addr { return &net.TCPAddr{} }

// fromHost is a connection from an address.
type fromHost struct {
	net.Conn
	ip string
}

func (c fromHost) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.ip)} }

// limited is a listener whose connections are opened by open.
type limited struct {
	*Listener
	inner  *fakeListener
	closed []Reason
}

func newLimited(o Options) *limited {
	l := &limited{inner: &fakeListener{conns: make(chan net.Conn, 1)}}
	o.Closed = func(_ net.Addr, why Reason) { l.closed = append(l.closed, why) }
	l.Listener = New(l.inner, o)
	return l
}

// open connects from a host and returns both ends.
func (l *limited) open(t *testing.T, ip string) (server, client net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	l.inner.conns <- fromHost{ours, ip}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return server, theirs
}

func isClosed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func admit(t *testing.T, c net.Conn) {
	Admit(Context(t.Context(), c))
	State(c, http.StateActive)
}

// TestOneHostFillsItsOwnPlaces: the host with most of the pending connections loses its
// oldest; another host's connection stays, although it is older.
func TestOneHostFillsItsOwnPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(Options{Max: 100, MaxPending: 4, Grace: time.Hour})
		_, owner := l.open(t, "10.0.0.1")
		<-time.After(time.Second)
		var strangers []net.Conn
		for range 20 {
			_, c := l.open(t, "10.0.0.2")
			strangers = append(strangers, c)
			<-time.After(time.Second)
		}
		if isClosed(owner) {
			t.Error("the connection of the host with one was closed")
		}
		for i, c := range strangers {
			if got, want := isClosed(c), i < 17; got != want {
				t.Errorf("connection %d of the host with many: closed %v, want %v", i, got, want)
			}
		}
		if len(l.closed) != 17 || slices.ContainsFunc(l.closed, func(r Reason) bool { return r != Crowded }) {
			t.Errorf("closed for %v", l.closed)
		}
	})
}

// TestFull: the admitted connection that has been idle for longest is closed for a new
// one; if none is idle, the new one is closed.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(Options{Max: 2, MaxPending: 2, Grace: time.Hour})
		first, firstPeer := l.open(t, "10.0.0.1")
		admit(t, first)
		second, secondPeer := l.open(t, "10.0.0.1")
		admit(t, second)
		State(second, http.StateIdle)
		third, thirdPeer := l.open(t, "10.0.0.1")
		admit(t, third)
		if isClosed(firstPeer) || !isClosed(secondPeer) || isClosed(thirdPeer) {
			t.Error("another than the idle connection was closed")
		}
		ours, fourthPeer := net.Pipe()
		l.inner.conns <- fromHost{ours, "10.0.0.1"}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a connection beyond the limit was accepted: %v", err)
			}
		}()
		synctest.Wait()
		if !isClosed(fourthPeer) || isClosed(firstPeer) || isClosed(thirdPeer) {
			t.Error("another than the new connection was closed")
		}
		l.Close()
		<-done
		if want := []Reason{Idle, Full}; !slices.Equal(l.closed, want) {
			t.Errorf("closed for %v, want %v", l.closed, want)
		}
	})
}

func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(Options{Max: 10, MaxPending: 5, Grace: time.Minute})
		_, late := l.open(t, "10.0.0.1")
		good, goodPeer := l.open(t, "10.0.0.1")
		admit(t, good)
		<-time.After(59 * time.Second)
		if isClosed(late) {
			t.Error("closed before its time")
		}
		<-time.After(2 * time.Second)
		if !isClosed(late) || isClosed(goodPeer) {
			t.Error("want only the pending one closed")
		}
	})
}

// TestStalledReader: a large answer is written as long as the client reads, in however
// small pieces.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(Options{Max: 10, MaxPending: 5, Grace: time.Hour, Stall: time.Minute})
		answer := make([]byte, 5*writeSize)
		slow, slowPeer := l.open(t, "10.0.0.1")
		go func() {
			for range 4 {
				<-time.After(50 * time.Second)
				_, _ = io.CopyN(io.Discard, slowPeer, writeSize)
			}
			// From here on it reads nothing.
		}()
		began := time.Now()
		n, err := slow.Write(answer)
		if n != 4*writeSize || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		if took := time.Since(began); took < 200*time.Second || took > 260*time.Second {
			t.Errorf("aborted after %s", took)
		}
	})
}

func TestShareOut(t *testing.T) {
	for files, want := range map[uint64]Shares{
		1024:    {192, 192, 384},
		4096:    {960, 960, 1920},
		64:      {8, 8, 16},
		1 << 40: {16320, 16320, most},
	} {
		if got := DivideFiles(files); got != want {
			t.Errorf("%d open files: %+v, want %+v", files, got, want)
		}
	}
}
