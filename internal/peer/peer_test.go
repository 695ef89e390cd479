package peer

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
)

const other = peertest.User

func TestMain(m *testing.M) {
	if !peertest.Main(os.Getenv) {
		os.Exit(m.Run())
	}
}

func dial(t testing.TB, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func listen(t testing.TB, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("cannot listen on %s: %v", address, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// eachTable runs a test with each of the tables alone.
func eachTable(t *testing.T, test func(t *testing.T)) {
	for name, ask := range map[string]table{"netlink": askNetlink, "proc": askProc} {
		t.Run(name, func(t *testing.T) {
			former := sources
			sources = []*source{{ask: ask}}
			t.Cleanup(func() { sources = former })
			test(t)
		})
	}
}

func want(t *testing.T, uid uint32) func(uint32, error) {
	t.Helper()
	return func(got uint32, err error) {
		t.Helper()
		if err != nil || got != uid {
			t.Errorf("uid %d, %v; want %d", got, err, uid)
		}
	}
}

// families are listeners and the addresses by which they are called, with %s for the
// port.
var families = map[string][2]string{
	"IPv4":               {"tcp4!127.0.0.1:0", "127.0.0.1:%s"},
	"another loopback":   {"tcp4!127.0.0.2:0", "127.0.0.2:%s"},
	"IPv4 wildcard":      {"tcp4!0.0.0.0:0", "127.0.0.1:%s"},
	"IPv6":               {"tcp6![::1]:0", "[::1]:%s"},
	"IPv4 mapped":        {"tcp![::]:0", "127.0.0.1:%s"},
	"IPv6 by a wildcard": {"tcp![::]:0", "[::1]:%s"},
}

func TestListenerOfAnotherUser(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			eachTable(t, func(t *testing.T) {
				h := peertest.Start(t, "listen", f[0])
				_, port, _ := net.SplitHostPort(h.Line())
				c := dial(t, "tcp", fmt.Sprintf(f[1], port))
				want(t, other)(UID(c)) // nobody accepted it
				h.Step("")
				want(t, other)(UID(c))
				h.Step("") // its end is closed: of no user
				if uid, err := UID(c); !errors.Is(err, ErrGone) {
					t.Errorf("closed: uid %d, %v", uid, err)
				}
			})
		})
	}
}

func TestCallerOfAnotherUser(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			eachTable(t, func(t *testing.T) {
				network, address, _ := strings.Cut(f[0], "!")
				l := listen(t, network, address)
				_, port, _ := net.SplitHostPort(l.Addr().String())
				h := peertest.Start(t, "call", "tcp!"+fmt.Sprintf(f[1], port))
				h.Line()
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				want(t, other)(UID(c))
				h.Step("")
				if uid, err := UID(c); !errors.Is(err, ErrGone) {
					t.Errorf("closed: uid %d, %v", uid, err)
				}
			})
		})
	}
}

func TestOwnConnection(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			eachTable(t, func(t *testing.T) {
				network, address, _ := strings.Cut(f[0], "!")
				l := listen(t, network, address)
				_, port, _ := net.SplitHostPort(l.Addr().String())
				c := dial(t, "tcp", fmt.Sprintf(f[1], port))
				us := uint32(os.Geteuid())
				want(t, us)(UID(c))
				s, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				want(t, us)(UID(c))
				want(t, us)(UID(s))
				_ = c.(*net.TCPConn).CloseWrite() // as curl may
				want(t, us)(UID(s))
			})
		})
	}
}

func TestUnixSocketOfAnotherUser(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "peer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	h := peertest.Start(t, "listen", "unix!"+dir+"/s")
	path := h.Line()
	want(t, other)(UID(dial(t, "unix", path)))

	l := listen(t, "unix", dir+"/ours")
	if err := os.Chmod(dir+"/ours", 0o777); err != nil {
		t.Fatal(err)
	}
	peertest.Start(t, "call", "unix!"+dir+"/ours").Line()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want(t, other)(UID(c))
}

// TestNoTable is a sandbox: the kernel reports nothing, or nothing that is true.
func TestNoTable(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	c := dial(t, "tcp", l.Addr().String())
	former := sources
	t.Cleanup(func() { sources = former })
	for name, ask := range map[string]table{
		"forbidden":     func(_, _ netip.AddrPort) (socket, error) { return socket{}, netlinkError(unix.EPERM) },
		"empty":         func(_, _ netip.AddrPort) (socket, error) { return socket{}, errAbsent },
		"without users": func(_, _ netip.AddrPort) (socket, error) { return socket{state: unix.BPF_TCP_LISTEN}, nil },
	} {
		sources = []*source{{ask: ask}}
		if uid, err := UID(c); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: uid %d, %v", name, uid, err)
		}
	}
	// A failed query is different: it may be temporary, and others may cause it.
	sources = []*source{{ask: func(_, _ netip.AddrPort) (socket, error) { return socket{}, netlinkError(unix.EMFILE) }}}
	if uid, err := UID(c); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("too many open files: uid %d, %v", uid, err)
	}
}

// TestAskOnce: kernels before 6.17 report uid 0 for a socket without an inode.
func TestAskOnce(t *testing.T) {
	remote, local := netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("127.0.0.1:4000")
	const established, listening = unix.BPF_TCP_ESTABLISHED, unix.BPF_TCP_LISTEN
	waiting := socket{state: established, cookie: 7}
	for _, tc := range []struct {
		name        string
		connection  []socket // that is reported, one after the other
		listener    socket
		uid         uint32
		final, gone bool
	}{
		{"accepted", []socket{{state: established, uid: 5, inode: 1}}, socket{}, 5, true, false},
		{"accepted, and half closed", []socket{{state: unix.BPF_TCP_FIN_WAIT2, uid: 5, inode: 1}}, socket{}, 5, true, false},
		{"waits to be accepted", []socket{waiting, waiting}, socket{state: listening, uid: 5, inode: 1}, 5, true, false},
		{"accepted in the meantime", []socket{waiting, {state: established, uid: 5, inode: 1, cookie: 7}}, socket{state: listening, uid: 5, inode: 1}, 0, false, true},
		{"another listener took over", []socket{waiting, {state: listening, uid: 5, inode: 3}}, socket{state: listening, uid: 5, inode: 3}, 0, false, true},
		{"another connection of the same addresses", []socket{waiting, {state: established, cookie: 8}}, socket{state: listening, uid: 5, inode: 3}, 0, false, true},
		{"listener without an inode", []socket{waiting, waiting}, socket{state: listening}, 0, false, true},
		{"time wait", []socket{{state: unix.BPF_TCP_TIME_WAIT}}, socket{}, 0, true, true},
		{"closed", []socket{{state: unix.BPF_TCP_FIN_WAIT1, uid: 5}}, socket{}, 0, true, true},
		{"not established there", []socket{{state: unix.BPF_TCP_SYN_RECV}}, socket{}, 0, false, true},
	} {
		i := 0
		uid, final, err := askOnce(func(_, to netip.AddrPort) (socket, error) {
			if to.Port() == 0 {
				return tc.listener, nil
			}
			s := tc.connection[min(i, len(tc.connection)-1)]
			i++
			return s, nil
		}, remote, local)
		if uid != tc.uid || final != tc.final || errors.Is(err, ErrGone) != tc.gone {
			t.Errorf("%s: uid %d, final %v, %v", tc.name, uid, final, err)
		}
	}
}

func BenchmarkUID(b *testing.B) {
	l := listen(b, "tcp", "127.0.0.1:0")
	c := dial(b, "tcp", l.Addr().String())
	s, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for name, ask := range map[string]table{"netlink": askNetlink, "proc": askProc} {
		b.Run(name, func(b *testing.B) {
			former := sources
			sources = []*source{{ask: ask}}
			defer func() { sources = former }()
			for b.Loop() {
				if _, err := UID(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	path := b.TempDir() + "/s"
	listen(b, "unix", path)
	u := dial(b, "unix", path)
	b.Run("unix", func(b *testing.B) {
		for b.Loop() {
			if _, err := UID(u); err != nil {
				b.Fatal(err)
			}
		}
	})
}
