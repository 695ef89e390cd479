// Package gateway lets running jobs call the daemon. It listens on the loopback
// interface of a node, only for its own user, and adds the runner's credentials, so that
// jobs need none: curl $TORC_API_URL/… is enough. It marks the requests as those of a
// job, which the daemon allows less.
package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/internal/guard"
	"github.com/torc-slurm/torc-slurm/internal/peer"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Options configure a gateway.
type Options struct {
	// WorkflowID is the workflow of the jobs.
	WorkflowID int64
	// Forward sends a request to the daemon: it sets the address and the
	// credentials. It need not close the body.
	Forward func(*http.Request) (*http.Response, error)
	// PeerUID returns the user at the other end of a connection; peer.UID if nil.
	PeerUID func(net.Conn) (uint32, error)
	// Port is the preferred port; 0, or one that is in use, means any.
	Port int
	Log  *slog.Logger
}

// Gateway is a listener on the loopback interface.
type Gateway struct {
	o      Options
	url    string
	server *http.Server
	done   sync.WaitGroup

	// If the kernel does not report the user of a connection, callers need the token
	// of this gateway.
	token []byte // its hash; nil if it is not needed
	dir   string // of the file with the token
}

// The limits. The time of an answer is not limited, since it may be a stream of events.
const (
	maxConnections = 512
	headerTime     = 10 * time.Second // for the headers of a request
	bodyTime       = 5 * time.Minute  // for its body
	answerTime     = 10 * time.Minute // until the daemon begins to answer
	idleTime       = 2 * time.Minute
	maxHeader      = 64 << 10
	maxBody        = 1 << 30 // the daemon has lower limits of its own
)

// Start listens and serves until Close. Its error has CodeUnavailable if it cannot listen.
func Start(o Options) (*Gateway, error) {
	if o.PeerUID == nil {
		o.PeerUID = peer.UID
	}
	g := &Gateway{o: o}
	l, err := listen(o.Port)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "cannot listen for jobs on this node: %v", err)
	}
	if err := checkPeerUID(o.PeerUID); errors.Is(err, peer.ErrUnknown) {
		if err := g.makeToken(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		o.Log.Warn("the kernel does not report the calling user, as in some sandboxes: jobs need a token to call the API",
			"token_file", g.TokenFile(), "error", err)
	}
	g.url = "http://" + l.Addr().String() + api.BasePath
	g.server = &http.Server{
		Handler: g.handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	own := g.guarded(l)
	g.done.Go(func() {
		if err := g.server.Serve(own); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("jobs can no longer call the API", "error", err)
		}
	})
	return g, nil
}

// guarded returns a listener for the user of this process only. If the kernel does not
// report the user of a connection, the token decides, if there is one.
func (g *Gateway) guarded(l net.Listener) net.Listener {
	only := &guard.Guard{UID: g.o.PeerUID, Log: g.o.Log, Unknown: func(net.Conn, error) bool { return g.token != nil }}
	return only.Listener(newBounded(l, maxConnections))
}

func listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && port != 0 {
		return net.Listen("tcp4", "127.0.0.1:0")
	}
	return l, err
}

// URL returns the base of the API for jobs on this node.
func (g *Gateway) URL() string { return g.url }

// Port returns the port that jobs on this node call.
func (g *Gateway) Port() int { return portOf(g.url) }

func portOf(url string) int {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	_, port, _ := net.SplitHostPort(host)
	n, _ := strconv.Atoi(port) // from our own listener
	return n
}

// TokenFile returns the path of the file with the token that jobs need; empty if they
// need none, which is the normal case.
func (g *Gateway) TokenFile() string {
	if g.dir == "" {
		return ""
	}
	return filepath.Join(g.dir, "token")
}

// Close ends all connections and waits for them.
func (g *Gateway) Close() {
	_ = g.server.Close() // there is nothing to do about an error
	g.done.Wait()
	if g.dir != "" {
		_ = os.RemoveAll(g.dir) // the token is no longer valid
	}
}

// makeToken writes the token of this gateway to a file that only this user can read.
func (g *Gateway) makeToken() (err error) {
	if g.dir, err = os.MkdirTemp("", "torc-gateway-"); err != nil {
		return fmt.Errorf("create a folder for the token of jobs: %w", err)
	}
	token := rand.Text()
	if err := os.WriteFile(g.TokenFile(), []byte(token+"\n"), 0o600); err != nil {
		return errors.Join(fmt.Errorf("write the token of jobs: %w", err), os.RemoveAll(g.dir))
	}
	sum := sha256.Sum256([]byte(token))
	g.token = sum[:]
	return nil
}

// handler returns the handler that checks requests and forwards them.
func (g *Gateway) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: g.rewrite, Transport: forwarder(g.o.Forward), ModifyResponse: withoutChallenge, ErrorHandler: g.onError,
		ErrorLog: slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.authorized(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, workflow.Errorf(workflow.CodeForbidden, "the token is missing or wrong").
				WithHint("send the header Authorization: Bearer with the contents of the file $TORC_TOKEN_FILE"))
		case r.Host != strings.TrimPrefix(strings.TrimSuffix(g.url, api.BasePath), "http://") && r.Host != "localhost:"+strconv.Itoa(g.Port()):
			writeError(w, http.StatusForbidden, workflow.Errorf(workflow.CodeForbidden, "%q is not the address of this gateway", r.Host).
				WithHint("use $TORC_API_URL as it is"))
		case r.URL.Path != api.BasePath && !strings.HasPrefix(r.URL.Path, api.BasePath+"/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			if r.ContentLength != 0 {
				// Not set without a body: the deadline would end streams.
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // always supported here
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			proxy.ServeHTTP(w, r)
		}
	})
}

// authorized reports whether a request has the token, if it needs one. Else the listener
// has checked its user.
func (g *Gateway) authorized(r *http.Request) bool {
	if g.token == nil {
		return true
	}
	secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], g.token) == 1
}

// rewrite changes the request for the daemon, so that a job cannot claim more rights than
// it has.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	for _, name := range []string{"Authorization", "Cookie", "Upgrade"} {
		p.Out.Header.Del(name)
	}
	p.Out.Header.Set(api.JobHeader, strconv.FormatInt(g.o.WorkflowID, 10))
	p.Out.Host = "" // that of the daemon
}

// withoutChallenge removes the daemon's request for credentials, since a job has none. It
// returns an error with CodeForbidden if the daemon rejects the runner.
func withoutChallenge(resp *http.Response) error {
	resp.Header.Del("Www-Authenticate")
	resp.Header.Del("Set-Cookie")
	if resp.StatusCode == http.StatusUnauthorized {
		return workflow.Errorf(workflow.CodeForbidden, "the daemon rejects the runner of this job").
			WithHint("the daemon considers its allocation ended or canceled")
	}
	return nil
}

// onError answers a request that the daemon has not answered.
func (g *Gateway) onError(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	var known *workflow.Error
	switch {
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the job has closed the connection
	case errors.As(err, &large):
		writeError(w, http.StatusRequestEntityTooLarge, workflow.Errorf(workflow.CodeInvalid, "the body is larger than the limit of %d bytes", large.Limit))
	case errors.As(err, &known) && known.Code == workflow.CodeForbidden:
		writeError(w, http.StatusForbidden, known)
	default:
		g.o.Log.Debug("a job's request was not answered", "method", r.Method, "path", r.URL.Path, "error", err)
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusServiceUnavailable, workflow.Errorf(workflow.CodeUnavailable, "the daemon cannot be reached now: %v", err).
			WithHint("the job keeps running; repeat the request later"))
	}
}

// writeError writes an error of the API.
func writeError(w http.ResponseWriter, status int, e *workflow.Error) {
	kinds := map[workflow.Code]string{workflow.CodeForbidden: api.KindForbidden, workflow.CodeUnavailable: api.KindUnavailable}
	text, err := json.Marshal(api.ErrorResponse{Error: api.ErrorDetail{Error: kinds[e.Code], Message: e.Message, Hint: e.Hint}})
	if err != nil {
		panic(err) // impossible for our own type
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the job may have ended
}
