package noderunner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// nodeLink is a runner's way to the daemon. The daemon may be gone for a while
// and come back elsewhere: a call that fails has the link look into the endpoint
// file, which lies on a file system that nodes and login nodes share.
type nodeLink struct {
	endpoint string // the file that says where the daemon is
	secret   string // the file with the allocation's secret
	log      *slog.Logger

	mu     sync.Mutex
	url    string
	pin    string
	client *client.Client
}

// linkRetries is how often the client itself repeats a call: the link and the
// runner do so, too.
const linkRetries = 1

// current is the client for where the daemon was last known to be.
func (l *nodeLink) current() (*client.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	return l.client, nil
}

// open makes a client for where the daemon says it is; mu is held.
func (l *nodeLink) open() error {
	secret, err := trustedfile.ReadSecret(l.secret)
	if err != nil {
		return workflow.Errorf(workflow.CodeForbidden, "the secret of this allocation: %v", err).
			WithHint("it is removed when the allocation is over for the daemon")
	}
	e, err := server.ReadEndpoint(l.endpoint)
	if err != nil {
		return workflow.Errorf(workflow.CodeUnavailable, "where the daemon is: %v", err)
	}
	if e.NodeURL == "" {
		return workflow.Errorf(workflow.CodeUnavailable, "the daemon does not listen for compute nodes")
	}
	if l.client != nil && e.NodeURL == l.url && e.Fingerprint == l.pin {
		return nil
	}
	c, err := client.New(client.Options{
		URL: e.NodeURL, Token: strings.TrimSpace(string(secret)), CAFingerprint: e.Fingerprint, Retries: linkRetries, Log: l.log,
	})
	if err != nil {
		return err
	}
	if l.client != nil {
		l.log.Info("the daemon has moved", "url", e.NodeURL)
		l.client.Close()
	}
	l.client, l.url, l.pin = c, e.NodeURL, e.Fingerprint
	return nil
}

// movedSince reports whether the daemon is elsewhere than the client thought
// whose call failed.
func (l *nodeLink) movedSince(c *client.Client, failure error) bool {
	var refusal *client.APIError
	if errors.As(failure, &refusal) && refusal.Status != http.StatusUnauthorized && refusal.Status != http.StatusForbidden {
		return false // it is there
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == c {
		if err := l.open(); err != nil {
			l.log.Warn("cannot find out where the daemon is", "error", err)
		}
	}
	return l.client != c
}

func (l *nodeLink) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Close()
	}
}

// throughLink makes a call, and once more if the daemon has moved.
func throughLink[T any](ctx context.Context, l *nodeLink, call func(*client.Client) (T, error)) (answer T, err error) {
	c, err := l.current()
	if err != nil {
		return answer, err
	}
	answer, err = call(c)
	if err != nil && ctx.Err() == nil && l.movedSince(c, err) {
		if c, err = l.current(); err == nil {
			answer, err = call(c)
		}
	}
	return answer, err
}

// Register introduces the runner.
func (l *nodeLink) Register(ctx context.Context, workflowID int64, req *lease.RegisterRequest) (*lease.RegisterResponse, error) {
	return throughLink(ctx, l, func(c *client.Client) (*lease.RegisterResponse, error) {
		return c.Runners.Register(ctx, workflowID, req)
	})
}

// Turn makes one turn.
func (l *nodeLink) Turn(ctx context.Context, runnerID int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	return throughLink(ctx, l, func(c *client.Client) (*lease.TurnResponse, error) { return c.Runners.Turn(ctx, runnerID, req) })
}

// Leave deregisters the runner.
func (l *nodeLink) Leave(ctx context.Context, runnerID int64, req *lease.LeaveRequest) (*lease.LeaveResponse, error) {
	return throughLink(ctx, l, func(c *client.Client) (*lease.LeaveResponse, error) { return c.Runners.Leave(ctx, runnerID, req) })
}

// FailedWorkflow says what the jobs of a compensation learn of the run.
func (l *nodeLink) FailedWorkflow(ctx context.Context, workflowID int64) (*stage.FailedWorkflow, error) {
	return throughLink(ctx, l, func(c *client.Client) (*stage.FailedWorkflow, error) {
		return c.Runners.FailedWorkflow(ctx, workflowID)
	})
}

// Actions lists the workflow's actions.
func (l *nodeLink) Actions(ctx context.Context, workflowID int64) ([]api.Action, error) {
	return throughLink(ctx, l, func(c *client.Client) ([]api.Action, error) { return c.Actions.List(ctx, workflowID) })
}

// ClaimAction claims an action.
func (l *nodeLink) ClaimAction(ctx context.Context, workflowID, actionID, runnerID int64) (bool, error) {
	return throughLink(ctx, l, func(c *client.Client) (bool, error) {
		return c.Runners.ClaimAction(ctx, workflowID, actionID, runnerID)
	})
}

// AccountSteps says what Slurm accounted for attempts.
func (l *nodeLink) AccountSteps(ctx context.Context, runnerID int64, accounts *api.StepAccounts) error {
	_, err := throughLink(ctx, l, func(c *client.Client) (struct{}, error) {
		return struct{}{}, c.Runners.AccountSteps(ctx, runnerID, accounts)
	})
	return err
}

// Version is the daemon's version.
func (l *nodeLink) Version(ctx context.Context) (*api.VersionInfo, error) {
	return throughLink(ctx, l, func(c *client.Client) (*api.VersionInfo, error) { return c.Version(ctx) })
}

// Forward sends a request of a job to the daemon, and once more if the daemon has
// moved and nothing of the body was read.
func (l *nodeLink) Forward(req *http.Request) (*http.Response, error) {
	c, err := l.current()
	if err != nil {
		return nil, err
	}
	body := &watchedBody{ReadCloser: req.Body}
	if req.Body != nil && req.Body != http.NoBody {
		req = req.WithContext(req.Context())
		req.Body = body
	}
	resp, err := c.Forward(req)
	failure := err
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		failure = &client.APIError{Status: resp.StatusCode} // somebody else may have its port
	}
	if failure == nil || req.Context().Err() != nil || body.read.Load() || !l.movedSince(c, failure) {
		return resp, err
	}
	moved, e := l.current()
	if e != nil {
		return resp, err
	}
	if resp != nil {
		_ = resp.Body.Close() // the next answer counts
	}
	return moved.Forward(req)
}

// watchedBody is a body that may be sent again if nobody has read it: a transport
// that cannot connect closes it. Whoever received it closes it in the end.
type watchedBody struct {
	io.ReadCloser
	read atomic.Bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.read.Store(true)
	}
	return n, err
}

func (b *watchedBody) Close() error { return nil }

// versioner tells the version of a server.
type versioner interface {
	Version(ctx context.Context) (*api.VersionInfo, error)
}

// How a runner tries to reach a daemon that does not answer: often enough to be
// there a few seconds after it, and not all at once.
const (
	firstArrival = time.Second
	lastArrival  = 5 * time.Second
)

// refusalPatience is how long a refusal is not believed at the start: whoever listens
// where the daemon was may be somebody else, and the file system may show an old
// state of the folder with the secret.
const refusalPatience = time.Minute

// arrive waits until a server answers: it may just be down.
func arrive(ctx context.Context, c versioner, patience time.Duration, log *slog.Logger) (*api.VersionInfo, error) {
	until := time.Now().Add(patience)
	var refused time.Time // since when; zero: the last call was not
	for pause := firstArrival; ; pause = min(2*pause, lastArrival) {
		version, err := c.Version(ctx)
		now := time.Now()
		switch {
		case err == nil || !now.Before(until):
			return version, err
		case !isRefusal(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = now
		case now.Sub(refused) >= refusalPatience:
			return nil, err
		}
		wait := time.Duration((0.6 + 0.4*rand.Float64()) * float64(pause))
		log.Warn("the daemon does not answer", "error", err, "retry_s", wait.Seconds(), "patience_s", until.Sub(now).Seconds())
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// isRefusal reports whether somebody answered, and does not want us.
func isRefusal(err error) bool {
	var refusal *client.APIError
	if errors.As(err, &refusal) {
		return refusal.Status < http.StatusInternalServerError
	}
	return workflow.CodeOf(err) == workflow.CodeForbidden
}
