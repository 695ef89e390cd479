package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/workflow"
)

const stranger = 65534 // a user other than the one who runs the tests

// TestMain lets a test start this program again as another user, who requests an address
// and prints the answer.
func TestMain(m *testing.M) {
	if address := os.Getenv("GATEWAY_TEST_ADDRESS"); address != "" {
		ask(address)
		return
	}
	goleak.VerifyTestMain(m)
}

func ask(address string) {
	c, err := net.DialTimeout("tcp", address, time.Minute)
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(time.Minute)) // of a working connection
		fmt.Fprintf(c, "GET %s/ping HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", api.BasePath, address)
		var answer []byte
		answer, err = io.ReadAll(c)
		fmt.Printf("%q ", answer) //nolint:forbidigo // what this program says to the test that started it
	}
	fmt.Println(err) //nolint:forbidigo // what this program says to the test that started it
}

// daemon is a server that records its requests.
type daemon struct {
	*httptest.Server
	mu       sync.Mutex      // guards requests
	requests []*http.Request // with their bodies as texts in Pattern
	answer   http.HandlerFunc
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") }}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Pattern = string(body)
		d.mu.Lock()
		d.requests = append(d.requests, r)
		d.mu.Unlock()
		d.answer(w, r)
	}))
	t.Cleanup(d.Server.Close)
	return d
}

// seen returns the requests so far.
func (d *daemon) seen() []*http.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests
}

// open starts a gateway to a daemon.
func (d *daemon) open(t *testing.T, change func(*Options)) *Gateway {
	t.Helper()
	c, err := client.New(client.Options{URL: d.URL + api.BasePath, User: "me", Password: "hidden", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	o := Options{WorkflowID: 7, Forward: c.Forward, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	g, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// send sends a request as a job does.
func send(t *testing.T, method, url, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// want checks an answer.
func want(t *testing.T, resp *http.Response, text string, status int, words ...string) {
	t.Helper()
	if resp.StatusCode != status {
		t.Errorf("status %d %s, want %d", resp.StatusCode, text, status)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the answer %s does not contain %q", text, w)
		}
	}
}

// A job needs no credentials, and nothing that it sends extends its rights.
func TestGatewayForwards(t *testing.T) {
	d := newDaemon(t)
	g := d.open(t, nil)
	header := http.Header{
		"Authorization": {"Bearer mine"}, "Cookie": {"a=b"}, api.JobHeader: {"8", "9"}, "User-Agent": {"curl"},
		"Content-Type": {"application/json"}, "Connection": {"Upgrade"}, "Upgrade": {"h2c"}, "X-Span-Id": {"s1"},
	}
	resp, text := send(t, "POST", g.URL()+"/jobs/3/spawn_jobs?x=%2F", `{"jobs":[]}`, header)
	want(t, resp, text, http.StatusOK, "fine")
	if len(d.seen()) != 1 {
		t.Fatalf("%d requests arrived", len(d.seen()))
	}
	r := d.seen()[0]
	user, password, _ := r.BasicAuth()
	if r.URL.String() != api.BasePath+"/jobs/3/spawn_jobs?x=%2F" || r.Method != http.MethodPost || r.Pattern != `{"jobs":[]}` ||
		user != "me" || password != "hidden" || r.Header.Get("Cookie") != "" || r.Header.Get("Upgrade") != "" || len(r.Header["Authorization"]) != 1 ||
		r.Header.Get("User-Agent") != "curl" || r.Header.Get("X-Span-Id") != "s1" || r.Host != strings.TrimPrefix(d.URL, "http://") {
		t.Errorf("%s %s of %s %v with %s arrived at the daemon", r.Method, r.URL, r.Host, r.Header, r.Pattern)
	}
	if got := r.Header[api.JobHeader]; len(got) != 1 || got[0] != "7" {
		t.Errorf("the request arrived on behalf of jobs of %q", got)
	}
}

// Answers that are streams arrive as they are written.
func TestGatewayStreams(t *testing.T) {
	d := newDaemon(t)
	read := make(chan struct{})
	d.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-read
		fmt.Fprint(w, "data: 2\n\n")
	}
	g := d.open(t, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL()+"/workflows/7/events/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	first, err := lines.ReadString('\n')
	if err != nil || first != "data: 1\n" {
		t.Errorf("%q, %v", first, err)
	}
	close(read)
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "\ndata: 2\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

// Another user gets nothing, and none of their requests reach the daemon.
func TestGatewayOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a process of another user")
	}
	d := newDaemon(t)
	g := d.open(t, nil)
	exe, err := os.Open("/proc/self/exe") // the folder of the test may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	asks := func(uid uint32) string {
		cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3")
		cmd.ExtraFiles, cmd.Dir = []*os.File{exe}, "/"
		cmd.Env = []string{"GATEWAY_TEST_ADDRESS=" + fmt.Sprintf("127.0.0.1:%d", g.Port())}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := asks(stranger); !strings.HasPrefix(got, `"" `) || len(d.seen()) != 0 {
		t.Errorf("the other user got %s, the daemon %d requests", got, len(d.seen()))
	}
	if got := asks(0); !strings.Contains(got, "200 OK") || len(d.seen()) != 1 {
		t.Errorf("the own user got %s, the daemon %d requests", got, len(d.seen()))
	}
}

// If the kernel does not name the caller, jobs present a token that only their user can
// read.
func TestGatewayWithoutKernel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := newDaemon(t)
	g := d.open(t, func(o *Options) {
		o.PeerUID = func(net.Conn) (uint32, error) { return 0, fmt.Errorf("a sandbox: %w", peer.ErrUnknown) }
	})
	resp, text := send(t, "GET", g.URL()+"/ping", "", nil)
	want(t, resp, text, http.StatusUnauthorized, "TORC_TOKEN_FILE")
	resp, text = send(t, "GET", g.URL()+"/ping", "", http.Header{"Authorization": {"Bearer wrong"}})
	want(t, resp, text, http.StatusUnauthorized)
	if len(d.seen()) != 0 {
		t.Error("the daemon got a request without the token")
	}
	token, err := os.ReadFile(g.TokenFile())
	info, err2 := os.Stat(g.TokenFile())
	if err != nil || err2 != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(err, err2, info)
	}
	resp, text = send(t, "GET", g.URL()+"/ping", "", http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}})
	want(t, resp, text, http.StatusOK)
	if user, _, _ := d.seen()[0].BasicAuth(); user != "me" {
		t.Error("the token of jobs arrived at the daemon")
	}
	g.Close()
	if _, err := os.Stat(g.TokenFile()); !os.IsNotExist(err) {
		t.Errorf("the token is still there: %v", err)
	}
}

func TestGatewayWithKernelHasNoToken(t *testing.T) {
	if g := newDaemon(t).open(t, nil); g.TokenFile() != "" {
		t.Errorf("jobs are asked for the token in %s", g.TokenFile())
	}
}

// A job is told that the daemon is down, and can try again.
func TestGatewayWithoutDaemon(t *testing.T) {
	d := newDaemon(t)
	g := d.open(t, nil)
	d.Server.Close()
	resp, text := send(t, "GET", g.URL()+"/ping", "", nil)
	want(t, resp, text, http.StatusServiceUnavailable, "the daemon cannot be reached now")
	var answer api.ErrorResponse
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Error.Error != api.KindUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s, %v, header %v", text, err, resp.Header)
	}
}

// An answer that would have a job look for credentials, or repeat a final error for
// minutes, is replaced.
func TestGatewayWhoseRunnerIsNotLetIn(t *testing.T) {
	d := newDaemon(t)
	d.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	}
	g := d.open(t, nil)
	resp, text := send(t, "GET", g.URL()+"/ping", "", nil)
	want(t, resp, text, http.StatusForbidden, "rejects the runner of this job")
	if resp.Header.Get("WWW-Authenticate") != "" {
		t.Error("the job is asked for credentials")
	}
	g = d.open(t, func(o *Options) {
		o.Forward = func(*http.Request) (*http.Response, error) {
			return nil, workflow.Errorf(workflow.CodeForbidden, "the secret is gone")
		}
	})
	resp, text = send(t, "GET", g.URL()+"/ping", "", nil)
	want(t, resp, text, http.StatusForbidden, "the secret is gone")
}

// The gateway serves only the API, under the address that jobs are given.
func TestGatewayIsForTheAPI(t *testing.T) {
	d := newDaemon(t)
	g := d.open(t, nil)
	root := strings.TrimSuffix(g.URL(), api.BasePath)
	for _, path := range []string{"/", "/metrics", api.BasePath + "x/ping"} {
		resp, text := send(t, "GET", root+path, "", nil)
		want(t, resp, text, http.StatusNotFound)
	}
	resp, text := send(t, "GET", g.URL()+"/ping", "", http.Header{"Host": {"evil.example"}})
	want(t, resp, text, http.StatusForbidden, "evil.example")
	if len(d.seen()) != 0 {
		t.Errorf("the daemon got %s", d.seen()[0].URL)
	}
	resp, text = send(t, "GET", strings.Replace(g.URL(), "127.0.0.1", "localhost", 1)+"/ping", "", nil)
	want(t, resp, text, http.StatusOK)
}

// The requested port is used if it is free, and another one otherwise.
func TestGatewayPort(t *testing.T) {
	d := newDaemon(t)
	first := d.open(t, nil)
	same := func(o *Options) { o.Port = first.Port() }
	if second := d.open(t, same); second.Port() == first.Port() || second.Port() == 0 {
		t.Errorf("two gateways on port %d", second.Port())
	}
	first.Close()
	if third := d.open(t, same); third.Port() != first.Port() {
		t.Errorf("on port %d, want %d", third.Port(), first.Port())
	}
}

// A slot is free again when a connection has ended, whoever ended it.
func TestConnectionsAreLimited(t *testing.T) {
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newBounded(inner, 1)
	dial := func() net.Conn {
		c, err := net.Dial("tcp4", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one, two := dial(), dial()
	defer one.Close()
	defer two.Close()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error)
	go func() {
		for range 2 {
			_, err := l.Accept()
			accepted <- err
		}
	}()
	select {
	case err := <-accepted:
		t.Fatalf("accepted beyond the limit: %v", err)
	default:
	}
	_ = first.Close() // closing twice counts once
	_ = first.Close()
	if err := <-accepted; err != nil {
		t.Error(err)
	}
	_ = l.Close()
	if err := <-accepted; err == nil {
		t.Error("accepted after the end")
	}
}
