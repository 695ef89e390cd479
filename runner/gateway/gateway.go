// Package gateway lets running jobs call the daemon. It listens on the loopback
// interface of a node, for the user who runs it alone, and adds the credentials
// that the runner has, so that jobs need none: curl $TORC_API_URL/… is all. What
// comes through it is marked as a job's, for which the daemon allows less.
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

// Options say for whom a gateway is and where requests go.
type Options struct {
	// WorkflowID is the workflow of the jobs.
	WorkflowID int64
	// Forward sends a request to the daemon: it sets the address and the
	// credentials. It need not close the body.
	Forward func(*http.Request) (*http.Response, error)
	// PeerUID asks the kernel who is at the other end of a connection; peer.UID
	// if nil.
	PeerUID func(net.Conn) (uint32, error)
	// Port is tried first; 0 for any. Any is taken, too, if it is not free.
	Port int
	Log  *slog.Logger
}

// Gateway is a listener on the loopback interface.
type Gateway struct {
	o      Options
	url    string
	server *http.Server
	done   sync.WaitGroup

	// Where the kernel does not tell who is at the other end, callers show a
	// token of this gateway alone.
	token []byte // its hash; nil if none is needed
	dir   string // has the file with the token
}

// The limits. An answer may be a stream of events, so that nothing bounds how
// long it takes.
const (
	maxConnections = 512
	headerTime     = 10 * time.Second // for the headers of a request
	bodyTime       = 5 * time.Minute  // for its body
	answerTime     = 10 * time.Minute // until the daemon begins to answer
	idleTime       = 2 * time.Minute
	maxHeader      = 64 << 10
	maxBody        = 1 << 30 // the daemon has lower limits of its own
)

// Start listens and serves until Close.
func Start(o Options) (*Gateway, error) {
	if o.PeerUID == nil {
		o.PeerUID = peer.UID
	}
	g := &Gateway{o: o}
	l, err := listen(o.Port)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "cannot listen for jobs on this node: %v", err)
	}
	if err := canTell(o.PeerUID); errors.Is(err, peer.ErrUnknown) {
		if err := g.makeToken(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		o.Log.Warn("the kernel does not tell which user calls, as in some sandboxes: jobs that call the API have to show a token",
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

// guarded returns a listener for the user who runs this process alone. Where the kernel
// does not tell who that is, the token decides, if there is one.
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

// URL is the base of the API for jobs on this node.
func (g *Gateway) URL() string { return g.url }

// Port is the port that jobs on this node call.
func (g *Gateway) Port() int { return portOf(g.url) }

func portOf(url string) int {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	_, port, _ := net.SplitHostPort(host)
	n, _ := strconv.Atoi(port) // of a listener of ours
	return n
}

// TokenFile is the file with the token that jobs have to show; empty where the
// kernel tells who they are, which is nearly everywhere.
func (g *Gateway) TokenFile() string {
	if g.dir == "" {
		return ""
	}
	return filepath.Join(g.dir, "token")
}

// Close ends all connections and waits for them.
func (g *Gateway) Close() {
	_ = g.server.Close() // nothing is left to do with it
	g.done.Wait()
	if g.dir != "" {
		_ = os.RemoveAll(g.dir) // it opens nothing any more
	}
}

// makeToken writes a token that only this user can read, for the life of this
// gateway.
func (g *Gateway) makeToken() (err error) {
	if g.dir, err = os.MkdirTemp("", "torc-gateway-"); err != nil {
		return fmt.Errorf("make a folder for the token of jobs: %w", err)
	}
	token := rand.Text()
	if err := os.WriteFile(g.TokenFile(), []byte(token+"\n"), 0o600); err != nil {
		return errors.Join(fmt.Errorf("write the token of jobs: %w", err), os.RemoveAll(g.dir))
	}
	sum := sha256.Sum256([]byte(token))
	g.token = sum[:]
	return nil
}

// handler checks requests and passes them on.
func (g *Gateway) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: g.rewrite, Transport: forwarder(g.o.Forward), ModifyResponse: withoutChallenge, ErrorHandler: g.failed,
		ErrorLog: slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.known(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, workflow.Errorf(workflow.CodeForbidden, "the token is missing or wrong").
				WithHint("send the header Authorization: Bearer with what is in the file $TORC_TOKEN_FILE"))
		case r.Host != strings.TrimPrefix(strings.TrimSuffix(g.url, api.BasePath), "http://") && r.Host != "localhost:"+strconv.Itoa(g.Port()):
			refuse(w, http.StatusForbidden, workflow.Errorf(workflow.CodeForbidden, "%q is not the address of this gateway", r.Host).
				WithHint("use $TORC_API_URL as it is"))
		case r.URL.Path != api.BasePath && !strings.HasPrefix(r.URL.Path, api.BasePath+"/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			if r.ContentLength != 0 {
				// It ends the request if the body does not come; answers that are
				// streams have none.
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // of a connection it works
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			proxy.ServeHTTP(w, r)
		}
	})
}

// known reports whether a request comes from a job of ours. The listener has
// seen to that, unless the kernel does not tell.
func (g *Gateway) known(r *http.Request) bool {
	if g.token == nil {
		return true
	}
	secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], g.token) == 1
}

// rewrite makes the request that goes to the daemon. Nothing that a job sends can
// widen what it may do.
func (g *Gateway) rewrite(p *httputil.ProxyRequest) {
	for _, name := range []string{"Authorization", "Cookie", "Upgrade"} {
		p.Out.Header.Del(name)
	}
	p.Out.Header.Set(api.JobHeader, strconv.FormatInt(g.o.WorkflowID, 10))
	p.Out.Host = "" // that of the daemon
}

// withoutChallenge keeps from jobs how the daemon asks runners for credentials: it
// does not let this runner in, and a job has nothing else to show.
func withoutChallenge(resp *http.Response) error {
	resp.Header.Del("Www-Authenticate")
	resp.Header.Del("Set-Cookie")
	if resp.StatusCode == http.StatusUnauthorized {
		return workflow.Errorf(workflow.CodeForbidden, "the daemon does not let in this job's runner any more").
			WithHint("its allocation is over for the daemon, or was canceled")
	}
	return nil
}

// failed answers a request that the daemon did not.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	var known *workflow.Error
	switch {
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the job has gone; nobody reads an answer
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, workflow.Errorf(workflow.CodeInvalid, "the body is larger than the limit of %d bytes", large.Limit))
	case errors.As(err, &known) && known.Code == workflow.CodeForbidden:
		refuse(w, http.StatusForbidden, known)
	default:
		g.o.Log.Debug("a job's request was not answered", "method", r.Method, "path", r.URL.Path, "error", err)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, workflow.Errorf(workflow.CodeUnavailable, "the daemon cannot be reached now: %v", err).
			WithHint("the job goes on without it; repeat the request later"))
	}
}

// refuse answers with an error of the API.
func refuse(w http.ResponseWriter, status int, e *workflow.Error) {
	kinds := map[workflow.Code]string{workflow.CodeForbidden: api.KindForbidden, workflow.CodeUnavailable: api.KindUnavailable}
	text, err := json.Marshal(api.ErrorResponse{Error: api.ErrorDetail{Error: kinds[e.Code], Message: e.Message, Hint: e.Hint}})
	if err != nil {
		panic(err) // a type of ours that cannot be written
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the job may be gone
}
