package client

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/internal/peer/peertest"
)

// seen records the credentials of the requests that a server got.
type seen struct {
	mu     sync.Mutex
	sent   []string
	wanted string // requests with others get 401
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := r.Header.Get("Authorization") + r.Header.Get("Cookie")
	s.sent = append(s.sent, got)
	if s.wanted != "" && got != s.wanted {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	_, _ = w.Write([]byte(`{"status":"ok"}`))
}

// Nothing is sent to a listener of another user, and the error says whose it is.
func TestNothingIsSentToAnotherUser(t *testing.T) {
	for _, at := range []string{"tcp!127.0.0.1:0", "tcp![::1]:0"} {
		other := peertest.Start(t, "collect", at)
		where := other.Line()
		c, err := New(Options{URL: "http://" + where + "/torc-service/v1", Token: "secret", Password: "secret", Cookie: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ping(t.Context())
		want := "port " + where[strings.LastIndex(where, ":")+1:] + " belongs to another user (uid 65534)"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
		if !IsOtherUser(err) || !IsUnreachable(err) {
			t.Errorf("%v: other user %v, unreachable %v", err, IsOtherUser(err), IsUnreachable(err))
		}
		if got := other.Collected(1); got != `""` {
			t.Errorf("the other user got %s", got)
		}
	}
}

// Another user's socket is not used, in a folder that others can write to and in one that
// was closed too late. The port is used instead, also when the socket is gone.
func TestPortInsteadOfSocket(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "torc-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	other := peertest.Start(t, "collect", "unix!"+dir+"/s")
	socket := other.Line()
	var s seen
	server := httptest.NewServer(&s)
	defer server.Close()
	for _, mode := range []os.FileMode{0o777, 0o755} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{socket, dir + "/gone", dir + "/gone/s"} {
			place := Place{Socket: at, Address: server.Listener.Addr().String()}
			c, err := New(Options{URL: "http://127.0.0.1:1", Locate: func() Place { return place }, Password: "secret", Retries: -1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Ping(t.Context()); err != nil {
				t.Errorf("%s in a folder of mode %04o: %v", at, mode, err)
			}
			place.Address = "127.0.0.1:1"
			c.Close()
			if _, err := c.Ping(t.Context()); !IsUnreachable(err) {
				t.Errorf("%s in a folder of mode %04o, and no port: %v", at, mode, err)
			}
		}
	}
	if got := other.Collected(2); got != `""` { // the folder was rejected before that
		t.Errorf("the other user got %s", got)
	}
}

// A token goes over plain connections only to a server that requests it, and never to
// another host.
func TestTokenWithoutTLS(t *testing.T) {
	untold := func(net.Conn) (uint32, error) { return 0, peer.ErrUnknown }
	for name, tc := range map[string]struct {
		wanted string
		uid    func(net.Conn) (uint32, error)
		sent   []string
	}{
		"the server knows the caller":         {"", nil, []string{"", ""}},
		"the server is in a sandbox":          {"Bearer secret", nil, []string{"", "Bearer secret", "Bearer secret"}},
		"the client is in a sandbox":          {"", untold, []string{"", ""}},
		"both are, and the token has changed": {"Bearer new", untold, []string{"", "Bearer new", "Bearer new"}},
		"not because of a missing token":      {"Basic", nil, []string{"", "Bearer new", "Bearer new"}},
	} {
		s := &seen{wanted: tc.wanted}
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte("new\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{Token: "secret", PeerUID: tc.uid, Retries: -1}
		if strings.Contains(strings.Join(tc.sent, " "), "new") {
			o.TokenFile = file
		}
		c := serve(t, o, s.ServeHTTP)
		for range 2 {
			_, _ = c.Ping(t.Context()) // the recorded credentials matter
		}
		if !slices.Equal(s.sent, tc.sent) {
			t.Errorf("%s: sent %q, want %q", name, s.sent, tc.sent)
		}
	}
}

// Over TLS the token of the next daemon is read from the file when it rejects the
// previous one.
func TestTokenOfTheNextDaemon(t *testing.T) {
	s := &seen{wanted: "Bearer new"}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{URL: server.URL, Insecure: true, Token: "old", TokenFile: file, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"Bearer old", "Bearer new", "Bearer new"}; !slices.Equal(s.sent, want) {
		t.Errorf("sent %q, want %q", s.sent, want)
	}
}

// A request with a body is repeated completely.
func TestTokenIsSentWithTheSameBody(t *testing.T) {
	var bodies []string
	c := serve(t, Options{Token: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		text := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(text)
		bodies = append(bodies, string(text))
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	})
	if err := c.do(t.Context(), http.MethodPost, "/x", map[string]int{"a": 1}, nil); err != nil {
		t.Error(err)
	}
	if len(bodies) != 2 || bodies[0] != `{"a":1}` || bodies[1] != bodies[0] {
		t.Errorf("bodies %q", bodies)
	}
}

// A password of the user is sent to a server of the same user, and over plain connections
// to no other host.
func TestPasswordWithoutTLS(t *testing.T) {
	var s seen
	c := serve(t, Options{User: "bob", Password: "secret", Cookie: "c=1"}, s.ServeHTTP)
	if _, err := c.Ping(t.Context()); err != nil || !slices.Equal(s.sent, []string{"Basic Ym9iOnNlY3JldA==c=1"}) {
		t.Errorf("%v, sent %q", err, s.sent)
	}
	l := &listenerCheck{given: true, uid: func(net.Conn) (uint32, error) { return 0, peer.ErrUnknown }}
	remote := &farConn{}
	if err := l.check(remote); !IsOtherUser(err) || !strings.Contains(err.Error(), "without encryption") {
		t.Errorf("to another host: %v", err)
	}
	l.given = false
	if err := l.check(remote); err != nil || !l.elsewhere.Load() {
		t.Errorf("to another host without credentials: %v", err)
	}
}

// farConn is a connection to another host.
type farConn struct{ net.Conn }

func (*farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
